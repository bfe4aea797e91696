// What is chosen, and what happens when something else is.

const state = { kind: "", layer: 0, head: -1, view: "heat", unit: "words", row: null, query: 0, step: 4, every: false };

/** Another head; a word that was chosen stays chosen among the same words. */
function choose({ kind, layer, head }) {
  const others = queriesOf(kind) !== queriesOf(state.kind);
  Object.assign(state, { kind, layer, head });
  if (others) Object.assign(state, { row: null, query: firstQuery() });
  fillChooser();
  markMap();
  drawLarge();
  drawLookup();
  drawPicture();
}

/** The word or piece in this row is looked up. */
function ask(row) {
  const tokens = queriesOf(state.kind);
  Object.assign(state, { row, query: state.unit === "words" ? tokens.word_of.indexOf(row) : row });
  chooser.value = state.query;
  drawLookup();
  drawPicture();
}

/** A word that is worth a look: after the first few, and the one that is most decided in the head that is shown. */
function firstQuery() {
  const tokens = queriesOf(state.kind), { rows, columns, values } = weightsOf(attentionOf(state.kind, state.layer), state.head, "pieces");
  const peak = row => Math.max(...values.slice(row * columns, (row + 1) * columns));
  const words = [...Array(rows).keys()].filter(row => row >= Math.min(3, rows - 1) && /\p{L}/u.test(tokens.pieces[row]) && row < rows - 1);
  return words.length ? words.reduce((best, row) => peak(row) > peak(best) ? row : best) : 0;
}
const rowOfQuery = () => state.unit === "words" ? queriesOf(state.kind).word_of[state.query] : state.query;

function buildGloss() {
  const gloss = document.getElementById("gloss");
  if (!gloss) return;
  const { said, source } = data.tokens, last = said.words.length - 1;
  for (const [word, place, weight] of data.alignment) {
    if (word === last) continue;
    const button = element("button", { type: "button", style: `--sure:${(0.35 + 0.65 * Math.min(1, weight / 0.6)).toFixed(2)}` },
      element("span", { class: "said", dir: "auto", lang: data.languages.target || null }, said.words[word]),
      element("span", { class: "source", dir: "auto", lang: data.languages.source || null }, source.words[place]), element("small", {}, percent(weight)));
    button.addEventListener("click", () => {
      if (state.kind !== "decoder-source") choose(start());
      ask(state.unit === "words" ? word : said.word_of.indexOf(word));
      drawLarge();
      document.getElementById("large").scrollIntoView({ behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    });
    gloss.append(element("li", {}, button));
  }
}

/** What is shown first: how the translation reads the source, in the layer that is most decided. */
function start() {
  const kind = data.kinds.some(each => each.kind === "decoder-source") ? "decoder-source" : data.kinds[0].kind;
  const decided = layer => {
    const { rows, columns, values } = weightsOf(attentionOf(kind, layer), -1, "words");
    let sum = 0;
    for (let row = 0; row < rows; row++) sum += Math.max(...values.slice(row * columns, (row + 1) * columns - 1));
    return sum;
  };
  const layers = layersOf(kind), layer = layers.reduce((best, each) => decided(each) > decided(best) ? each : best);
  return { kind, layer, head: attentionOf(kind, layer).shape[0] > 1 ? -1 : 0 };
}

function paintAll() {
  readColours();
  paintMap();
  paint(document.getElementById("scale"), 64, 1, Float32Array.from({ length: 64 }, (_, i) => i / 63), shade);
  drawLarge();
  drawLookup();
  drawPicture();
}

for (const name of ["view", "unit", "step"])
  document.getElementById(name).addEventListener("change", event => {
    state[name] = name === "step" ? Number(event.target.value) : event.target.value;
    if (name === "unit" && state.row !== null) state.row = rowOfQuery();
    if (name === "step") drawLookup(); else drawLarge();
    if (name === "unit") drawPicture();
  });
chooser.addEventListener("change", () => {
  state.query = Number(chooser.value);
  state.row = rowOfQuery();
  drawLookup();
  drawPicture();
  drawLarge();
});
document.getElementById("numbers").addEventListener("toggle", event => { if (event.target.open) drawTable(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paintAll);
let waiting = 0;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawLarge, 120); });

state.kind = data.kinds[0].kind;
readColours();
buildMap();
buildGloss();
if (data.first) {
  const { kind, layer, head, piece } = data.first;
  Object.assign(state, { kind, layer, head, query: piece, unit: "pieces" });
  document.querySelector("#unit input[value=pieces]").checked = true;
} else {
  Object.assign(state, start());
  state.query = firstQuery();
}
state.row = rowOfQuery();
fillChooser();
markMap();
paintAll();
