// Words of a sentence and of its translation, and what changed between two translations.

/** For each character that a reader of Unicode counts, its place in a JavaScript string; the end of the text last. */
function places(text) {
  const found = [];
  let place = 0;
  for (const character of text) { found.push(place); place += character.length; }
  found.push(place);
  return found;
}

/** Links of words as places in JavaScript strings: {source: [start, end], target: [start, end]}. Links that do not fit are dropped. */
export function linksOf(source, target, alignment) {
  const from = places(source), to = places(target), links = [];
  for (const [a, b, c, d] of alignment ?? []) {
    const link = { source: [from[a], from[b]], target: [to[c], to[d]] };
    if (a < b && c < d && [...link.source, ...link.target].every(Number.isInteger)) links.push(link);
  }
  return links;
}

/** The distinct spans of one side in order, without overlaps, each with the numbers of its links. */
export function spansOf(links, side) {
  const bySpan = new Map();
  links.forEach((link, number) => {
    const key = link[side].join(":");
    if (!bySpan.has(key)) bySpan.set(key, { start: link[side][0], end: link[side][1], links: [] });
    bySpan.get(key).links.push(number);
  });
  const spans = [...bySpan.values()].sort((a, b) => a.start - b.start || a.end - b.end);
  return spans.filter((span, i) => i === 0 || span.start >= spans[i - 1].end);
}

/** A text as pieces of [string, span or null], which joined give the text. */
export function piecesOf(text, spans) {
  const pieces = [];
  let place = 0;
  for (const span of spans) {
    if (span.start > place) pieces.push([text.slice(place, span.start), null]);
    pieces.push([text.slice(span.start, span.end), span]);
    place = span.end;
  }
  if (place < text.length) pieces.push([text.slice(place), null]);
  return pieces;
}

/** The words of `text` as [word, changed]: changed if it does not belong to the longest common subsequence with `other`. */
export function changes(text, other) {
  const own = text.match(/\s+|\S+/gu) ?? [], theirs = (other.match(/\S+/gu) ?? []);
  const words = own.filter(word => word.trim()), length = Array.from({ length: words.length + 1 }, () => new Uint16Array(theirs.length + 1));
  for (let i = words.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      length[i][j] = words[i] === theirs[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const changed = [];
  for (let i = 0, j = 0; i < words.length; i++) {
    while (j < theirs.length && words[i] !== theirs[j] && length[i][j + 1] >= length[i + 1][j]) j++;
    const same = j < theirs.length && words[i] === theirs[j];
    changed.push(!same);
    if (same) j++;
  }
  let word = 0;
  return own.map(piece => [piece, piece.trim() ? changed[word++] : false]);
}
