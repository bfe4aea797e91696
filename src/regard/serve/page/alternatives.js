// Other translations of a sentence, under the sentence that is pointed at or focused. A click takes one.

import { byId, element, show } from "./elements.js";
import { changes } from "./words.js";

const DELAY = 350, GRACE = 220; // milliseconds

/** The texts that could stand there instead of what is shown. */
export function othersOf(part) {
  const texts = [part.result.text, ...(part.result.alternatives ?? []).map(other => other.text)];
  return [...new Set(texts)].filter(text => text !== part.shown);
}

/** A button for another translation; what differs is bold. */
export function otherButton(text, shown, language, choose) {
  const pieces = changes(text, shown).map(([piece, changed]) => changed ? element("b", {}, piece) : piece);
  const button = element("button", { type: "button", class: "other", lang: language, dir: "auto" }, ...pieces);
  button.addEventListener("click", () => choose(text));
  return button;
}

export class Alternatives {
  constructor({ onChoose, language }) {
    Object.assign(this, { onChoose, language });
    this.box = byId("alternatives");
    this.clock = 0;
    this.one = null;
    this.box.addEventListener("pointerenter", () => clearTimeout(this.clock));
    this.box.addEventListener("pointerleave", () => this.at(null));
    this.box.addEventListener("focusin", () => clearTimeout(this.clock));
    this.box.addEventListener("focusout", event => { if (!this.box.contains(event.relatedTarget)) this.at(null); });
    this.box.addEventListener("keydown", event => this.#key(event));
  }

  /** The sentence that is pointed at or focused, or null for none. */
  at(one, focused = false) {
    clearTimeout(this.clock);
    if (one && one === this.one) return;
    this.clock = setTimeout(() => one ? this.#open(one) : this.close(), one ? (focused ? 0 : DELAY) : GRACE);
  }

  close() {
    clearTimeout(this.clock);
    this.one = null;
    show(this.box, false);
  }

  #open(one) {
    const others = one.part.shown === undefined ? [] : othersOf(one.part);
    if (!others.length) { this.close(); return; }
    this.one = one;
    this.box.replaceChildren(...others.map(text => otherButton(text, one.part.shown, this.language(), chosen => this.#choose(one, chosen))));
    show(this.box);
    const lines = one.node.getClientRects(), line = lines[lines.length - 1], field = this.box.parentNode.getBoundingClientRect();
    const left = Math.max(4, Math.min(lines.length > 1 ? 4 : line.left - field.left - 12, field.width - this.box.offsetWidth));
    this.box.style.left = `${left}px`;
    this.box.style.top = `${line.bottom - field.top + 4}px`;
  }

  #choose(one, text) {
    this.close();
    this.onChoose(one.part, text);
    one.node.focus();
  }

  #key(event) {
    const buttons = [...this.box.children], place = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    (buttons[place + step] ?? (step < 0 ? this.one?.node : null))?.focus();
  }
}
