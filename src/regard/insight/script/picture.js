// The image that was read as patches, with the weights of the chosen query over it.

const canvas = document.getElementById("picture");
const patchQueries = () => queriesOf(state.kind) === data.tokens.source;

/** The image itself, one pixel for each of its pixels. */
function plainPicture() {
  const [height, width, channels] = data.picture.size, pixels = bytes(data.picture.pixels);
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = pixels[i * channels + Math.min(c, channels - 1)];
    image.data[4 * i + 3] = 255;
  }
  const plain = element("canvas", { width, height });
  plain.getContext("2d").putImageData(image, 0, 0);
  return plain;
}

/** [patches] how much of its weight the query gives to each; null where the head does not look at the image. */
function patchWeights() {
  if (keysOf(state.kind) !== data.tokens.source) return null;
  const { rows, columns, values } = weightsOf(attentionOf(state.kind, state.layer), state.head, "pieces");
  if (state.row !== null) return values.slice(state.query * columns, (state.query + 1) * columns);
  const mean = new Float32Array(columns);
  values.forEach((value, i) => { mean[i % columns] += value / rows; });
  return mean;
}

function drawPicture() {
  if (!canvas) return;
  const [down, across] = data.picture.grid, [height, width] = data.picture.size;
  const scale = Math.max(1, Math.min(Math.floor(640 / width) || 1, Math.floor(400 / height) || 1));
  Object.assign(canvas, { width: width * scale, height: height * scale });
  const context = canvas.getContext("2d"), high = canvas.height / down, wide = canvas.width / across;
  context.imageSmoothingEnabled = false;
  context.drawImage(plainPicture(), 0, 0, canvas.width, canvas.height);
  const weights = patchWeights(), top = weights ? Math.max(...weights) : 0;
  if (weights) weights.forEach((weight, n) => {
    context.fillStyle = css(shade(top ? weight / top : 0), 0.65);
    context.fillRect((n % across) * wide, Math.floor(n / across) * high, wide - 1, high - 1);
  });
  if (patchQueries() && state.row !== null) {
    context.strokeStyle = css(colours.ink);
    context.lineWidth = 2;
    context.strokeRect((state.query % across) * wide, Math.floor(state.query / across) * high, wide - 1, high - 1);
  }
  const asked = state.row === null ? "all queries, on average," : `“${queriesOf(state.kind).pieces[state.query]}”`;
  const best = weights ? ranked(weights).slice(0, 3).map(n => `${data.tokens.source.pieces[n]} (${percent(weights[n])})`).join(", ") : "";
  const text = weights ? `${asked} attends most to the patches ${best}.` : "This kind of attention does not look at the image.";
  document.getElementById("picture-told").textContent = text;
  canvas.setAttribute("aria-label", `The image in ${down} by ${across} patches: ${text}`);
}

if (canvas) canvas.addEventListener("click", event => {
  if (!patchQueries()) return;
  const box = canvas.getBoundingClientRect(), [down, across] = data.picture.grid;
  const column = Math.floor((event.clientX - box.left) / box.width * across), row = Math.floor((event.clientY - box.top) / box.height * down);
  ask(Math.min(down - 1, row) * across + Math.min(across - 1, column));
  drawLarge();
});
