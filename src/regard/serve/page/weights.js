// The numbers of one sentence's attention, as the server sends them.
// Shapes: T queries, S keys; a head of -1 is the mean of all heads of a layer.

export const KINDS = {
  "encoder": { title: "Encoder", about: "Encoder self-attention: each source word attends to all source words.", queries: "source", keys: "source" },
  "decoder": { title: "Decoder", about: "Decoder self-attention: each word attends to the words generated before it.", queries: "said", keys: "read" },
  "decoder-source": { title: "Encoder-decoder", about: "Encoder-decoder attention: each word of the translation attends to the source words.", queries: "said", keys: "source" },
};
export const nameOf = ({ kind, layer, head }) => head < 0 ? `${kind}.${layer}` : `${kind}.${layer}.${head}`;

/** Pieces and words: {pieces, words, word_of}. A word is what its pieces give together. */
function tokensOf(pieces, wordOf) {
  const words = [];
  pieces.forEach((piece, place) => { words[wordOf[place]] = (words[wordOf[place]] ?? "") + piece; });
  return { pieces, words: words.map(word => word.replaceAll("\u2581", " ").trim() || word), wordOf };
}

export class Weights {
  /** answer: what /v1/attention gives. Its kind "cross" has the name that `regard look` uses. */
  constructor(answer) {
    const { cross, ...others } = answer.kinds;
    this.all = cross ? { ...others, "decoder-source": cross } : others; // [layer][head][T][S] for each kind
    this.tokens = {
      source: tokensOf(answer.source_tokens, answer.source_words),
      said: tokensOf(answer.target_tokens, answer.target_words),
      read: tokensOf(answer.read_tokens, [0, ...answer.target_words.slice(0, -1).map(word => word + 1)]),
    };
    this.kept = new Map();
  }

  get kinds() { return Object.keys(KINDS).filter(kind => this.all[kind]?.length); }
  layers(kind) { return [...this.all[kind].keys()]; }
  across(kind) { return Math.max(...this.all[kind].map(layer => layer.length)); }
  rows(kind, unit) { return this.tokens[KINDS[kind].queries][unit]; }
  columns(kind, unit) { return this.tokens[KINDS[kind].keys][unit]; }

  /** {rows, columns, values} of one head, or of the mean, over words or pieces. */
  of(at, unit) {
    const key = `${nameOf(at)} ${unit}`;
    if (!this.kept.has(key)) this.kept.set(key, unit === "words" ? this.#inWords(at) : this.#inPieces(at));
    return this.kept.get(key);
  }

  #inPieces({ kind, layer, head }) {
    const heads = head < 0 ? this.all[kind][layer] : [this.all[kind][layer][head]];
    const rows = heads[0].length, columns = heads[0][0].length, values = new Float32Array(rows * columns);
    for (const weights of heads) weights.forEach((row, t) => row.forEach((weight, s) => { values[t * columns + s] += weight / heads.length; }));
    return { rows, columns, values };
  }

  /** A word receives the sum over its pieces, and gives their mean: rows still add up to 1. */
  #inWords(at) {
    const { rows, columns, values } = this.of(at, "pieces"), { queries, keys } = KINDS[at.kind];
    const asking = this.tokens[queries], asked = this.tokens[keys], T = asking.words.length, S = asked.words.length;
    const result = new Float32Array(T * S), count = new Float32Array(T);
    for (let t = 0; t < rows; t++) count[asking.wordOf[t]]++;
    for (let t = 0; t < rows; t++)
      for (let s = 0; s < columns; s++) result[asking.wordOf[t] * S + asked.wordOf[s]] += values[t * columns + s] / count[asking.wordOf[t]];
    return { rows: T, columns: S, values: result };
  }

  /** What is shown first: how the translation reads the source, by the layer whose weights are sharpest. */
  first() {
    const kind = this.kinds.includes("decoder-source") ? "decoder-source" : this.kinds[0];
    const sharp = layer => {
      const { rows, columns, values } = this.of({ kind, layer, head: -1 }, "words");
      let sum = 0;
      for (let row = 0; row < rows; row++) sum += Math.max(...values.slice(row * columns, (row + 1) * columns - 1));
      return sum;
    };
    const layer = this.layers(kind).reduce((best, each) => sharp(each) > sharp(best) ? each : best);
    return { kind, layer, head: this.across(kind) > 1 ? -1 : 0 };
  }
}

export const percent = value => value >= 0.0995 || value === 0 ? `${Math.round(100 * value)} %` : value < 0.001 ? "0 %" : `${(100 * value).toFixed(1)} %`;
