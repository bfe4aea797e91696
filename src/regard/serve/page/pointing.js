// Pointing at a word marks the words that it is aligned with, on both sides, and names them.

import { byId } from "./elements.js";

export class Pointing {
  constructor({ source, output }) {
    this.sides = () => ({ source: source.spans, target: output.words });
    this.told = byId("told");
    this.lit = [];
  }

  /** word: {part, links}, or null for none. */
  at(word) {
    for (const node of this.lit) node.classList.remove("lit");
    this.lit = [];
    if (!word) { this.told.textContent = ""; return; }
    const { source, target } = this.sides(), wanted = new Set(word.links);
    const linked = words => words.filter(other => other.part === word.part && other.links.some(link => wanted.has(link)));
    const from = linked(source), to = linked(target);
    this.lit = [...from, ...to].map(each => each.node);
    for (const node of this.lit) node.classList.add("lit");
    this.told.textContent = `${quoted(from)} → ${quoted(to)}`;
  }
}

const quoted = words => `“${words.map(word => word.node.textContent).join(" ")}”`;
