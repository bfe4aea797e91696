// The glossary: pairs of phrases for each pair of languages. They stay in this browser and travel with each request.

import { byId, element, show } from "./elements.js";
import { store, stored } from "./storage.js";

export class Glossary {
  constructor({ pair, name, onChange }) {
    Object.assign(this, { pair, name, onChange });
    this.all = stored("glossary", {});
    this.dialog = byId("glossary");
    this.rows = byId("glossary-rows");
    this.badge = byId("glossary-count");
    byId("open-glossary").addEventListener("click", () => this.open());
    byId("glossary-close").addEventListener("click", () => this.dialog.close());
    byId("glossary-add").addEventListener("click", () => this.#add("", "").focus());
    this.dialog.addEventListener("click", event => { if (event.target === this.dialog) this.dialog.close(); });
    this.dialog.addEventListener("input", () => this.#read());
    this.dialog.addEventListener("paste", event => this.#paste(event));
    this.dialog.addEventListener("keydown", event => { if (event.key === "Enter" && event.target.matches("input")) this.#next(event.target); });
  }

  /** The complete pairs for the current languages. */
  get pairs() {
    return (this.all[this.#key()] ?? []).filter(([source, target]) => source && target);
  }

  #key() {
    const { source, target } = this.pair();
    return `${source ?? ""}-${target}`;
  }

  open() {
    const { source, target } = this.pair();
    byId("glossary-source").textContent = source ? this.name(source) : "Source";
    byId("glossary-target").textContent = this.name(target);
    this.rows.replaceChildren();
    for (const [from, to] of this.all[this.#key()] ?? []) this.#add(from, to);
    if (!this.rows.children.length) this.#add("", "");
    this.dialog.showModal();
    this.rows.querySelector("input").focus();
  }

  /** The number of phrases beside the button. */
  count() {
    const number = this.pairs.length;
    this.badge.textContent = number;
    this.badge.setAttribute("aria-label", number === 1 ? "one phrase" : `${number} phrases`);
    show(this.badge, number > 0);
  }

  #add(from, to, before = null) {
    const { source, target } = this.pair();
    const field = (value, label, language) => Object.assign(element("input", { type: "text", "aria-label": label, lang: language ?? "", autocomplete: "off", dir: "auto" }), { value });
    const first = field(from, "Phrase in the source", source);
    const remove = element("button", { type: "button", class: "quiet", "aria-label": "Remove this phrase" }, "Remove");
    const row = element("tr", {}, element("td", {}, first), element("td", {}, field(to, "Phrase in the translation", target)), element("td", {}, remove));
    remove.addEventListener("click", () => {
      const neighbour = row.nextElementSibling ?? row.previousElementSibling;
      row.remove();
      this.#read();
      (neighbour?.querySelector("input") ?? byId("glossary-add")).focus();
    });
    this.rows.insertBefore(row, before);
    return first;
  }

  #next(field) {
    const fields = [...this.rows.querySelectorAll("input")], next = fields[fields.indexOf(field) + 1];
    (next ?? this.#add("", "")).focus();
  }

  /** Lines with tabs become rows. */
  #paste(event) {
    const text = event.clipboardData.getData("text/plain"), row = event.target.closest?.("tr");
    if (!row || !text.includes("\t")) return;
    event.preventDefault();
    for (const line of text.split(/\r?\n/)) {
      const [from, to] = line.split("\t");
      if (from?.trim() && to?.trim()) this.#add(from.trim(), to.trim(), row);
    }
    if ([...row.querySelectorAll("input")].every(field => !field.value)) row.remove();
    this.#read();
    this.rows.querySelector("tr:last-child input").focus();
  }

  #read() {
    this.all[this.#key()] = [...this.rows.rows].map(row => [...row.querySelectorAll("input")].map(field => field.value.trim())).filter(([from, to]) => from || to);
    store("glossary", this.all);
    this.count();
    this.onChange();
  }
}
