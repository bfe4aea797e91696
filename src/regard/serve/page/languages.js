// The languages: what can be translated into what, what was chosen, and what was detected.

import { byId, element, show } from "./elements.js";
import { get, post } from "./api.js";
import { store, stored } from "./storage.js";

const AUTO = "auto", SAMPLE = 1000; // characters of a text by which its language is detected

export class Languages {
  constructor({ onChange, onSwap }) {
    this.source = byId("source");
    this.target = byId("target");
    this.model = byId("model");
    this.swapButton = byId("swap");
    this.names = new Map();
    this.targets = new Map();
    this.models = [];
    this.detected = null;
    this.sample = null;
    this.source.addEventListener("change", () => { this.#refresh(); this.#keep(); onChange(); });
    this.target.addEventListener("change", () => { this.#refresh(); this.#keep(); onChange(); });
    this.model.addEventListener("change", onChange);
    this.swapButton.addEventListener("click", () => { if (this.#swap()) onSwap(); });
  }

  /** Asks the server what it can do. */
  async load({ source, target } = {}) {
    const [languages, models] = await Promise.all([get("languages"), get("v1/models")]);
    this.models = models.models;
    for (const { code, name, targets } of languages) {
      this.names.set(code, name);
      const others = targets.filter(other => other !== code);
      if (others.length) this.targets.set(code, others);
    }
    this.source.replaceChildren(element("option", { value: AUTO }, "Detect language"), ...this.#options(this.targets.keys()));
    const last = stored("languages", {}), wanted = source ?? last.source ?? AUTO;
    this.source.value = this.targets.has(wanted) ? wanted : AUTO;
    this.#refresh(target ?? last.target);
  }

  get pair() {
    return { source: this.from, target: this.target.value };
  }

  /** The source language: as chosen or as detected; null before anything was detected. */
  get from() {
    return this.source.value === AUTO ? this.detected : this.source.value;
  }

  /** The pair that is most likely meant while nothing has been detected yet. */
  get likely() {
    const { source, target } = this.pair;
    return { source: source ?? [...this.targets.keys()].find(code => this.targets.get(code).includes(target)) ?? null, target };
  }

  name(code) {
    return this.names.get(code) ?? code;
  }

  /** The models for the chosen pair, and the one in use: as the chooser says, or the first. */
  get candidates() {
    return this.models.filter(model => model.source === this.from && model.target === this.target.value);
  }

  get current() {
    return this.candidates.find(model => model.name === this.model.value) ?? this.candidates[0] ?? null;
  }

  /** Detects the language of a text where it has to be; returns a message if no model translates from it. */
  async detect(text, signal) {
    const sample = text.trim().slice(0, SAMPLE);
    if (this.source.value !== AUTO) return null;
    if (sample === this.sample) return this.#remark;
    const found = await post("detect", { q: sample }, signal);
    const [best] = [...found].sort((a, b) => b.confidence - a.confidence);
    this.sample = sample;
    this.#remark = null;
    if (best && this.targets.has(best.language)) this.detected = best.language;
    else if (best && best.confidence >= 50) this.#remark = `This looks like ${this.#foreign(best.language)}. No model on this server translates from it. If it is another language, choose it above.`;
    else this.detected ??= this.targets.keys().next().value ?? null;
    this.#refresh();
    return this.#remark;
  }

  #remark = null;

  /** Forgets what was detected, for example when the text is empty. */
  forget() {
    this.detected = this.sample = this.#remark = null;
    this.#refresh();
  }

  #foreign(code) {
    try { return new Intl.DisplayNames(["en"], { type: "language" }).of(code); } catch { return this.name(code); }
  }

  #options(codes) {
    return [...codes].map(code => element("option", { value: code }, this.name(code)));
  }

  /** Brings the choosers into line with each other. */
  #refresh(wanted = this.target.value) {
    const automatic = this.source.options[0];
    automatic.textContent = this.source.value === AUTO && this.detected ? `${this.name(this.detected)} (detected)` : "Detect language";
    const all = new Set([...this.targets.values()].flat());
    const possible = this.from ? this.targets.get(this.from) ?? [] : [...all];
    const shown = this.source.value === AUTO ? [...all] : possible;
    this.target.replaceChildren(...this.#options(shown));
    this.target.value = possible.includes(wanted) ? wanted : possible[0] ?? "";
    const candidates = this.candidates, chosen = this.model.value;
    this.model.replaceChildren(...candidates.map(model => element("option", { value: model.name }, model.name)));
    if (candidates.some(model => model.name === chosen)) this.model.value = chosen;
    show(this.model, candidates.length > 1);
    const back = Boolean(this.from) && (this.targets.get(this.target.value) ?? []).includes(this.from);
    this.swapButton.disabled = !back;
    this.swapButton.title = !this.from || back ? "" : `No model translates from ${this.name(this.target.value)} to ${this.name(this.from)}`;
  }

  #swap() {
    const { source, target } = this.pair;
    if (!source || !(this.targets.get(target) ?? []).includes(source)) return false;
    this.source.value = target;
    this.#refresh(source);
    this.#keep();
    return true;
  }

  #keep() {
    store("languages", { source: this.source.value, target: this.target.value });
  }
}
