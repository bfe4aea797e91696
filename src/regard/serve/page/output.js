// The translation: sentences that can be opened, words that can be pointed at. One sentence at a time is reached by Tab.

import { byId, element, show } from "./elements.js";
import { wordsIn } from "./marking.js";

const UNSPACED = /^(zh|zt|ja|th|lo|km|my)\b/;

export class Output {
  constructor({ onPoint, onSentence, onOpen }) {
    Object.assign(this, { onPoint, onSentence, onOpen });
    this.box = byId("output");
    this.invitation = byId("invitation");
    this.sentences = []; // {node, gap, part, number, content, words}
    this.language = "";
    this.at = null; // the word that arrow keys have reached
    this.box.addEventListener("pointerover", event => this.#over(event.target));
    this.box.addEventListener("pointerleave", () => { onPoint(null); onSentence(null); });
    this.box.addEventListener("click", event => this.#click(event));
    this.box.addEventListener("keydown", event => this.#key(event));
    this.box.addEventListener("focusin", event => { const one = this.#of(event.target); if (one) { this.#reach(one); onSentence(one, true); } });
    this.box.addEventListener("focusout", event => { if (!this.box.contains(event.relatedTarget)) { this.at = null; onPoint(null); onSentence(null); } });
  }

  get text() {
    return this.sentences.map(one => one.node.textContent + one.gap.data).join("").trim();
  }

  get words() {
    return this.sentences.flatMap(one => one.words);
  }

  /** Shows the parts; what is not translated yet keeps its old text, in grey. */
  show(parts, language) {
    const real = parts.map((part, number) => [part, number]).filter(([part]) => part.text);
    this.language = language;
    this.box.lang = language;
    while (this.sentences.length > real.length) { const last = this.sentences.pop(); last.node.remove(); last.gap.remove(); }
    real.forEach(([part, number], i) => this.#place(this.sentences[i] ?? this.#make(), part, number));
    this.sentences.forEach((one, i) => { const gap = this.#gap(parts, one.number, i === this.sentences.length - 1); if (one.gap.data !== gap) one.gap.data = gap; });
    show(this.invitation, !real.length);
    if (this.sentences.length && !this.sentences.some(one => one.node.tabIndex === 0)) this.sentences[0].node.tabIndex = 0;
  }

  #make() {
    const node = element("span", { class: "sentence", role: "button", tabindex: "-1", "aria-expanded": "false", "aria-controls": "inspector", dir: "auto" });
    const one = { node, gap: document.createTextNode(""), content: null, words: [] };
    this.sentences.push(one);
    this.box.append(node, one.gap);
    return one;
  }

  #place(one, part, number) {
    Object.assign(one, { part, number });
    part.node = one.node;
    const stale = part.shown === undefined, content = stale ? null : JSON.stringify([part.shown, part.result.alignment]);
    one.node.classList.toggle("stale", stale);
    one.node.classList.toggle("doubtful", !stale && Boolean(part.result.findings?.length));
    if (stale || content === one.content) { one.words.forEach(word => { word.part = number; }); if (stale) one.words = []; return; }
    one.content = content;
    one.words = wordsIn(one.node, part.shown, part, "target").map(word => ({ ...word, part: number }));
  }

  /** The white space behind a sentence: that of the source, as the target's script writes it. */
  #gap(parts, number, last) {
    let gap = parts[number].after;
    for (let next = number + 1; next < parts.length && !parts[next].text; next++) gap += parts[next].before + parts[next].after;
    gap += parts[number + 1]?.text ? parts[number + 1].before : "";
    if (last || gap.includes("\n")) return gap;
    return UNSPACED.test(this.language) ? "" : gap || " ";
  }

  #of(node) {
    const sentence = node.closest?.(".sentence");
    return sentence ? this.sentences.find(one => one.node === sentence) : undefined;
  }

  #over(node) {
    const one = this.#of(node);
    this.onSentence(one ?? null);
    this.onPoint(one?.words.find(word => word.node === node) ?? null);
  }

  #click(event) {
    const one = this.#of(event.target), selection = getSelection();
    if (one && (selection.isCollapsed || !this.box.contains(selection.anchorNode))) { this.#reach(one); this.onOpen(one); }
  }

  #reach(one) {
    for (const other of this.sentences) other.node.tabIndex = other === one ? 0 : -1;
  }

  #key(event) {
    const one = this.#of(event.target);
    if (!one || event.ctrlKey || event.metaKey || event.altKey) return;
    const place = this.sentences.indexOf(one), last = this.sentences.length - 1;
    const next = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: last }[event.key];
    if (next !== undefined) this.sentences[Math.max(0, Math.min(last, next))].node.focus();
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.#step(one, event.key === "ArrowRight" ? 1 : -1);
    else if (event.key === "Enter" || event.key === " ") this.onOpen(one);
    else return;
    event.preventDefault();
  }

  /** Goes to the next or previous word of a sentence. */
  #step(one, by) {
    const place = one.words.indexOf(this.at);
    this.at = one.words[place < 0 ? (by > 0 ? 0 : one.words.length - 1) : Math.max(0, Math.min(one.words.length - 1, place + by))] ?? null;
    this.onPoint(this.at);
  }
}
