// Sentences and their words as elements, on both sides.

import { element } from "./elements.js";
import { linksOf, piecesOf, spansOf } from "./words.js";

/** The links between the words of a part and of what is shown as its translation; alternatives have none. */
export function linksIn(part) {
  if (!part.result || part.shown !== part.result.text) return [];
  part.links ??= linksOf(part.text, part.result.text, part.result.alignment);
  return part.links;
}

/** Fills an element with text in which the words of one side are elements. Returns the words. */
export function wordsIn(node, text, part, side) {
  const pieces = piecesOf(text, spansOf(linksIn(part), side));
  const words = [];
  node.replaceChildren(...pieces.map(([string, span]) => {
    if (!span) return string;
    const word = element("span", { class: "word" }, string);
    words.push({ node: word, links: span.links, start: span.start, end: span.end });
    return word;
  }));
  return words;
}

/** Fills the mirror of the source with its sentences. Returns all words: {node, part, links, from, to}. */
export function fill(mirror, parts) {
  const all = [];
  mirror.replaceChildren(...parts.flatMap((part, number) => {
    if (!part.text) return [part.before + part.after];
    const sentence = element("span", { class: "sentence" });
    for (const word of wordsIn(sentence, part.original, part, "source"))
      all.push({ ...word, part: number, from: part.start + word.start, to: part.start + word.end });
    part.mirrored = sentence;
    return [part.before, sentence, part.after];
  }));
  return all;
}
