// The numbers of the page: read from its text, unpacked when they are needed, kept once they are.
// Shapes: H heads, T queries, S keys, K width of a head; a head of -1 is the mean of all heads of a layer.

const data = JSON.parse(document.getElementById("data").textContent);
const NOTHING = 65535, STEPS = 2048, LEVELS = 7;
const off = new Set(data.off);

function bytes(text) {
  const raw = atob(text), array = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) array[i] = raw.charCodeAt(i);
  return array;
}

const attentionOf = (kind, layer) => data.attentions.find(one => one.kind === kind && one.layer === layer);
const layersOf = kind => data.attentions.filter(one => one.kind === kind).map(one => one.layer);
const queriesOf = kind => data.tokens[kind === "encoder" ? "source" : "said"];
const keysOf = kind => data.tokens[kind === "decoder" ? "read" : "source"];
const nameOf = (kind, layer, head) => head < 0 ? `${kind}.${layer}` : `${kind}.${layer}.${head}`;

/** The logarithms of one head's weights, [T * S]; -Infinity where looking is not allowed. */
function logarithms(attention, head) {
  attention.unpacked ??= new Uint16Array(bytes(attention.logarithms).buffer);
  const [, T, S] = attention.shape, all = attention.unpacked;
  const result = new Float32Array(T * S).fill(-Infinity);
  let place = head * (attention.causal ? T * (T + 1) / 2 : T * S);
  for (let t = 0; t < T; t++) {
    const end = attention.causal ? t + 1 : S;
    for (let s = 0; s < end; s++, place++) if (all[place] !== NOTHING) result[t * S + s] = -all[place] / STEPS;
  }
  return result;
}

/** Weights of one head, or the mean of all, over words or pieces: {rows, columns, values}. */
function weightsOf(attention, head, unit) {
  attention.kept ??= new Map();
  const key = `${head} ${unit}`;
  if (!attention.kept.has(key)) attention.kept.set(key, unit === "words" ? inWords(attention, head) : inPieces(attention, head));
  return attention.kept.get(key);
}

function inPieces(attention, head) {
  const [H, T, S] = attention.shape;
  if (head >= 0) return { rows: T, columns: S, values: logarithms(attention, head).map(Math.exp) };
  const values = new Float32Array(T * S);
  for (let h = 0; h < H; h++) weightsOf(attention, h, "pieces").values.forEach((value, i) => { values[i] += value / H; });
  return { rows: T, columns: S, values };
}

/** What the pieces of a word get together, from the mean of its pieces: rows still add up to 1. */
function inWords(attention, head) {
  const { rows, columns, values } = weightsOf(attention, head, "pieces");
  const asking = queriesOf(attention.kind), asked = keysOf(attention.kind);
  const T = asking.words.length, S = asked.words.length, result = new Float32Array(T * S), count = new Float32Array(T);
  for (let t = 0; t < rows; t++) count[asking.word_of[t]]++;
  for (let t = 0; t < rows; t++)
    for (let s = 0; s < columns; s++)
      result[asking.word_of[t] * S + asked.word_of[s]] += values[t * columns + s] / count[asking.word_of[t]];
  return { rows: T, columns: S, values: result };
}

/** The scores of one query of one head, [S]. */
function scoresOf(attention, head, query) {
  attention.shifts ??= new Float32Array(bytes(attention.shift).buffer);
  const [, T, S] = attention.shape;
  return logarithms(attention, head).slice(query * S, query * S + S).map(value => value + attention.shifts[head * T + query]);
}

/** A query (0), key (1) or value (2) as numbers between -1 and 1; null where the page does not carry them. */
function vectorOf(attention, which, head, place) {
  if (!attention.strips) return null;
  attention.vectors ??= attention.strips.map(bytes);
  const [, T, S] = attention.shape, K = attention.width[which], packed = attention.vectors[which];
  const first = (head * (which === 0 ? T : S) + place) * K;
  return Float32Array.from({ length: K }, (_, i) => {
    const number = first + i, byte = packed[number >> 1];
    return ((number & 1 ? byte >> 4 : byte & 15) - 8) / LEVELS;
  });
}

const labelsOf = (tokens, unit) => unit === "words" ? tokens.words : tokens.pieces;
const percent = value => value >= 0.0995 || value === 0 ? `${Math.round(100 * value)} %` : value < 0.001 ? "0 %" : `${(100 * value).toFixed(1)} %`;
const ranked = values => Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
