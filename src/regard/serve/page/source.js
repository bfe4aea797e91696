// The source: a text field over a mirror of its text, where words can be marked.

import { byId, show } from "./elements.js";
import { fill } from "./marking.js";

export class Source {
  constructor({ onText, onPoint, onNow }) {
    this.field = byId("text");
    this.mirror = byId("mirror");
    this.count = byId("count");
    this.clearButton = byId("clear");
    this.limit = 0;
    this.onText = onText;
    this.spans = [];
    this.field.addEventListener("input", event => { if (!event.isComposing) this.#changed(); });
    this.field.addEventListener("compositionend", () => this.#changed());
    this.field.addEventListener("keydown", event => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onNow(); } });
    this.field.addEventListener("keyup", event => { if (/^(Arrow|Home|End|Page)/.test(event.key)) onPoint(this.#atCaret()); });
    this.field.addEventListener("pointermove", event => onPoint(this.#at(event)));
    this.field.addEventListener("pointerleave", () => onPoint(null));
    this.field.addEventListener("blur", () => onPoint(null));
    this.field.addEventListener("scroll", () => { this.mirror.scrollTop = this.field.scrollTop; });
    this.clearButton.addEventListener("click", () => { this.set(""); this.field.focus(); });
    this.#measure();
  }

  get text() { return this.field.value; }

  set(text) {
    this.field.value = text;
    this.#changed();
  }

  setLimit(characters) {
    this.limit = characters > 0 ? characters : 0;
    this.#measure();
  }

  get tooLong() { return this.limit > 0 && this.text.length > this.limit; }

  /** Marks sentences and words as the translation knows them. */
  mark(parts) {
    this.spans = fill(this.mirror, parts);
    this.mirror.append("\u200b");
  }

  #changed() {
    this.#measure();
    this.onText(this.text);
  }

  /** The mirror has the text at once, so that both panes have its height. */
  #measure() {
    this.mirror.replaceChildren(`${this.text}\u200b`);
    this.spans = [];
    const length = this.text.length, form = number => number.toLocaleString("en");
    this.count.textContent = this.limit && 2 * length > this.limit ? `${form(length)} / ${form(this.limit)}` : length ? form(length) : "";
    this.count.setAttribute("aria-label", this.limit ? `${length} of ${this.limit} characters` : `${length} characters`);
    this.count.classList.toggle("problem", this.tooLong);
    show(this.clearButton, length > 0);
    document.documentElement.classList.toggle("long", length > 300);
  }

  /** The marked word under the pointer. */
  #at(event) {
    const word = document.elementsFromPoint(event.clientX, event.clientY).find(node => node.parentNode?.parentNode === this.mirror && node.matches(".word"));
    return word ? this.spans.find(span => span.node === word) ?? null : null;
  }

  /** The marked word at the caret. */
  #atCaret() {
    const { selectionStart: start, selectionEnd: end } = this.field;
    return start === end ? this.spans.find(span => span.from <= start && start <= span.to) ?? null : null;
  }
}
