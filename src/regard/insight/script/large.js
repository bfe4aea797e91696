// One head, large: as a heat map and as lines between words; what a word looks at, and what looks at it.

const ABOUT = {
  "encoder": ["Each source word (ROWS) attends to all source words (COLUMNS).", "attends to", "is attended to by"],
  "decoder": ["While the decoder generates a word (ROWS), it attends to the words that it has generated (COLUMNS).", "attends to", "is attended to by"],
  "decoder-source": ["While the decoder generates a word (ROWS), it attends to the source words (COLUMNS).", "attends to", "is attended to by"],
};
const named = text => data.units ? text.replaceAll("source words", data.units[1]).replaceAll("source word", data.units[0]) : text;
const stage = document.getElementById("stage"), told = document.getElementById("told");
const shown = () => weightsOf(attentionOf(state.kind, state.layer), state.head, state.unit);
const rowLabels = () => labelsOf(queriesOf(state.kind), state.unit);
const columnLabels = () => labelsOf(keysOf(state.kind), state.unit);
const rowOf = (weights, row) => weights.values.slice(row * weights.columns, (row + 1) * weights.columns);
const columnOf = (weights, column) => Float32Array.from({ length: weights.rows }, (_, row) => weights.values[row * weights.columns + column]);

function drawLarge() {
  const name = nameOf(state.kind, state.layer, state.head);
  const what = state.head < 0 ? `the mean of the heads of layer ${state.layer}` : `layer ${state.layer}, head ${state.head}`;
  document.getElementById("large-name").replaceChildren(element("code", {}, name), ` ${what}`);
  document.getElementById("large-about").textContent = off.has(name) ? "This head was switched off, so it has no weights."
    : named(ABOUT[state.kind][0]).replace("ROWS", state.view === "heat" ? "rows" : "left").replace("COLUMNS", state.view === "heat" ? "columns" : "right");
  stage.replaceChildren();
  stage.className = `stage ${state.view}`;
  (state.view === "heat" ? drawHeat : drawLines)();
  const table = document.getElementById("numbers");
  if (table.open) drawTable();
}

/** Who attends to whom in words, for everyone who cannot see the picture or wants the numbers. */
function tell(row, column) {
  const weights = shown(), [, looks, looked] = ABOUT[state.kind];
  const best = (values, labels) => ranked(values).filter(i => values[i] >= 0.005).slice(0, 4).map(i => `“${labels[i]}” ${percent(values[i])}`).join(", ") || "nothing";
  const quoted = text => element("b", {}, `“${text}”`);
  if (row !== null && column !== null)
    told.replaceChildren(quoted(rowLabels()[row]), ` ${looks} `, quoted(columnLabels()[column]), ` with ${percent(weights.values[row * weights.columns + column])}. `,
      `All weights: ${best(rowOf(weights, row), columnLabels())}.`);
  else if (row !== null) told.replaceChildren(quoted(rowLabels()[row]), ` ${looks} ${best(rowOf(weights, row), columnLabels())}.`);
  else if (column !== null) told.replaceChildren(quoted(columnLabels()[column]), ` ${looked} ${best(columnOf(weights, column), rowLabels())}.`);
  else told.textContent = state.view === "heat" ? "Point at a square, or use the arrow keys." : "Point at a word on either side.";
}

function textWidth(labels, size) {
  const context = element("canvas").getContext("2d");
  context.font = `${size}px system-ui, sans-serif`;
  return Math.max(...labels.map(label => context.measureText(label).width));
}

function drawHeat() {
  const weights = shown(), { rows, columns } = weights;
  const canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "heat map", "aria-describedby": "told",
    "aria-label": `Attention of ${rows} words to ${columns} words. Arrow keys move, Enter selects the word as query.` });
  stage.append(canvas);
  const roomy = Math.max(rows, columns) <= 40, size = roomy ? 14 : 11;
  const left = Math.min(150, textWidth(rowLabels(), size) + 14), slant = Math.min(150, textWidth(columnLabels(), size));
  const top = slant * 0.72 + 24, right = slant * 0.72 + 8;
  const across = (stage.clientWidth - left - right) / columns, down = (0.84 * innerHeight - top) / rows;
  const cell = Math.max(roomy ? 20 : 12, Math.min(44, Math.floor(across), Math.floor(down)));
  const width = left + columns * cell + right, height = top + rows * cell + 6, sharp = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: width * sharp, height: height * sharp });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const at = { row: state.row, column: null };

  function draw() {
    const context = canvas.getContext("2d");
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    context.clearRect(0, 0, width, height);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++) {
        context.fillStyle = css(shade(weights.values[row * columns + column]));
        context.fillRect(left + column * cell, top + row * cell, cell - 1, cell - 1);
      }
    label(context);
    if (at.row !== null) frame(context, left - 1, top + at.row * cell - 1, columns * cell + 1, cell + 1);
    if (at.column !== null) frame(context, left + at.column * cell - 1, top - 1, cell + 1, rows * cell + 1);
  }
  function frame(context, x, y, w, h) {
    context.strokeStyle = css(colours.ink, 0.75);
    context.lineWidth = 1.5;
    context.strokeRect(x, y, w, h);
  }
  function label(context) {
    context.textBaseline = "middle";
    const pen = chosen => {
      context.fillStyle = css(chosen ? colours.ink : colours.faint);
      context.font = `${chosen ? "650 " : ""}${size}px system-ui, sans-serif`;
    };
    context.textAlign = "right";
    rowLabels().forEach((text, row) => {
      const own = at.column !== null && at.row === null ? weights.values[row * columns + at.column] > 0.2 : row === at.row;
      pen(own);
      context.fillText(text, left - 8, top + (row + 0.5) * cell, left - 8);
    });
    context.textAlign = "left";
    columnLabels().forEach((text, column) => {
      pen(column === at.column || (at.row !== null && weights.values[at.row * columns + column] > 0.2));
      context.save();
      context.translate(left + (column + 0.45) * cell, top - 8);
      context.rotate(-Math.PI / 4);
      context.fillText(text, 0, 0, 150);
      context.restore();
    });
  }
  function place(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left - left, y = event.clientY - box.top - top;
    const column = x >= 0 && x < columns * cell ? Math.floor(x / cell) : null, row = y >= 0 && y < rows * cell ? Math.floor(y / cell) : null;
    return { row: x < columns * cell ? row : null, column: y < rows * cell ? column : null };
  }
  function go(to) {
    if (to.row === at.row && to.column === at.column) return;
    Object.assign(at, to);
    draw();
    tell(at.row, at.column);
  }
  canvas.addEventListener("pointermove", event => go(place(event)));
  canvas.addEventListener("pointerdown", event => { const to = place(event); if (to.row !== null) ask(to.row); go(to); });
  canvas.addEventListener("pointerleave", () => go({ row: state.row, column: null }));
  canvas.addEventListener("keydown", event => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (step) {
      event.preventDefault();
      const keep = (value, last) => Math.max(0, Math.min(last, value));
      go({ row: keep((at.row ?? 0) + step[0], rows - 1), column: keep((at.column ?? 0) + (at.column === null ? 0 : step[1]), columns - 1) });
      ask(at.row);
    } else if (event.key === "Enter") document.getElementById("query").focus();
  });
  draw();
  tell(at.row, at.column);
}

const SVG = "http://www.w3.org/2000/svg";

function drawLines() {
  const weights = shown(), { rows, columns, values } = weights;
  const left = element("div", { class: "words from", role: "group", "aria-label": "Queries" });
  const right = element("div", { class: "words to", role: "group", "aria-label": "Keys" });
  const lines = document.createElementNS(SVG, "svg");
  lines.setAttribute("aria-hidden", "true");
  stage.append(left, lines, right);
  const make = (box, labels, side) => labels.map((text, place) => {
    const button = element("button", { type: "button", class: "word", tabindex: place ? -1 : 0, dir: "auto" }, text);
    button.at = { side, place };
    for (const type of ["pointerenter", "focus"]) button.addEventListener(type, () => mark(side, place));
    button.addEventListener("click", () => { if (side === "from") ask(place); mark(side, place); });
    box.append(button);
    return button;
  });
  const from = make(left, rowLabels(), "from"), to = make(right, columnLabels(), "to");
  for (const side of [from, to]) walk(side, 1, () => {});
  left.addEventListener("pointerleave", rest);
  right.addEventListener("pointerleave", rest);

  const middle = button => button.offsetTop + button.offsetHeight / 2;
  const height = Math.max(left.scrollHeight, right.scrollHeight), width = lines.clientWidth || 300;
  lines.setAttribute("viewBox", `0 0 ${width} ${height}`);
  lines.style.height = `${height}px`;
  const paths = [];
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++) {
      const weight = values[row * columns + column];
      if (weight < 0.02) continue;
      const path = document.createElementNS(SVG, "path"), a = middle(from[row]), b = middle(to[column]);
      path.setAttribute("d", `M0 ${a}C${width * 0.45} ${a} ${width * 0.55} ${b} ${width} ${b}`);
      path.setAttribute("stroke-width", (0.8 + 7 * weight).toFixed(2));
      paths.push({ path, row, column, weight });
      lines.append(path);
    }

  function mark(side, place) {
    const on = each => place === null || (side === "from" ? each.row : each.column) === place;
    for (const each of paths) each.path.style.opacity = on(each) ? (0.2 + 0.8 * each.weight).toFixed(2) : (0.2 * each.weight).toFixed(3);
    const others = side === "from" ? to : from;
    const strengths = place === null ? null : side === "from" ? rowOf(weights, place) : columnOf(weights, place);
    for (const button of [...from, ...to]) { button.style.removeProperty("--strength"); button.classList.remove("chosen"); }
    if (place === null) { tell(null, null); return; }
    (side === "from" ? from : to)[place].classList.add("chosen");
    others.forEach((button, i) => button.style.setProperty("--strength", `${Math.round(85 * Math.pow(strengths[i], 0.6))}%`));
    tell(side === "from" ? place : null, side === "to" ? place : null);
  }
  function rest() { mark("from", state.row); }
  rest();
}

function drawTable() {
  const weights = shown(), body = element("tbody");
  rowLabels().forEach((text, row) => {
    const values = rowOf(weights, row), cells = ranked(values).slice(0, 3).map(i => element("td", {}, values[i] > 0 ? `${columnLabels()[i]} ${percent(values[i])}` : ""));
    body.append(element("tr", {}, element("th", { scope: "row" }, text), ...cells));
  });
  const heads = ["word", "attends most to", "then to", "then to"].map(text => element("th", { scope: "col" }, text));
  document.querySelector("#numbers .wide").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body));
}
