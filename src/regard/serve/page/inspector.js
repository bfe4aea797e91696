// One sentence opened in place: its other translations, its attention, and heads to switch off.

import { post } from "./api.js";
import { otherButton, othersOf } from "./alternatives.js";
import { byId, element, show } from "./elements.js";
import { HeatMap, readColours } from "./heatmap.js";
import { Heads } from "./heads.js";
import { KINDS, nameOf, Weights } from "./weights.js";
import { changes } from "./words.js";

export class Inspector {
  /** off: the heads that are switched off; request() gives the languages and the model; onSwitch(names, on). */
  constructor({ off, request, onSwitch, onChoose, onClose }) {
    Object.assign(this, { off, request, onSwitch, onChoose, onClose });
    this.box = byId("inspector");
    this.kinds = byId("kinds");
    this.stage = byId("stage");
    this.switch = byId("head-switch");
    this.problem = byId("inspector-problem");
    this.unit = "words";
    this.one = this.weights = this.at = this.running = this.map = null;
    this.whole = new Map(); // sentence -> its translation with all heads
    this.heads = new Heads({ onChoose: at => this.#choose(at) });
    byId("inspector-close").addEventListener("click", () => this.close(true));
    this.kinds.addEventListener("change", event => this.#choose(this.#like(event.target.value)));
    byId("unit").addEventListener("change", event => { this.unit = event.target.value; this.#draw(); });
    this.switch.addEventListener("click", () => this.#toggle());
    addEventListener("themechange", () => { if (this.weights) this.#draw(); });
    new ResizeObserver(() => { if (this.weights && !this.box.hidden && this.stage.clientWidth !== this.drawnAt) this.#draw(); }).observe(this.stage);
  }

  get isOpen() { return !this.box.hidden; }

  /** Opens a sentence, or closes it if it is open. */
  toggle(one) {
    if (this.one === one && this.isOpen) { this.close(true); return; }
    this.one?.node.setAttribute("aria-expanded", "false");
    this.open(one);
    byId("inspector-title").focus({ preventScroll: true });
    this.box.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  open(one) {
    this.one = one;
    one.node.setAttribute("aria-expanded", "true");
    show(this.box);
    this.#describe();
    this.#load();
  }

  /** The translation has changed: the same place is shown, or nothing if it is gone. */
  refresh(sentences) {
    if (!this.isOpen) return;
    if (!sentences.includes(this.one)) this.close(false);
    else if (this.one.part.shown !== undefined) this.open(this.one);
  }

  close(focus) {
    if (!this.isOpen) return;
    this.running?.abort();
    show(this.box, false);
    this.one?.node.setAttribute("aria-expanded", "false");
    if (focus) this.one?.node.focus();
    this.one = this.loaded = null;
    this.onClose();
  }

  /** Everything but the attention. */
  #describe() {
    const { part } = this.one, { source, target, model } = this.request();
    const before = this.off().size ? this.whole.get(part.text) : undefined;
    if (!this.off().size) this.whole.set(part.text, part.result.text);
    byId("inspected-source").textContent = part.text;
    byId("inspected-source").lang = source;
    byId("inspected-target").lang = target;
    byId("inspected-target").replaceChildren(...(before === undefined ? [part.shown] : changes(part.shown, before).map(([piece, changed]) => changed ? element("mark", {}, piece) : piece)));
    byId("inspector-facts").textContent = factsOf(part.result, model);
    const others = othersOf(part).map(text => element("li", {}, otherButton(text, part.shown, target, chosen => this.onChoose(part, chosen))));
    byId("other-list").replaceChildren(...others);
    show(byId("inspector-others"), others.length > 0);
  }

  async #load() {
    const { source, target, model } = this.request(), { text, shown } = this.one.part;
    const wanted = { text, translation: shown, source, target, model: model?.name, disabled_heads: [...this.off()].map(tripleOf) };
    const key = JSON.stringify(wanted);
    if (key === this.loaded) return;
    this.loaded = key;
    this.running?.abort();
    const running = this.running = new AbortController();
    show(this.problem, false);
    if (!model?.attention) { this.#refuse("This model has no attention that can be shown."); return; }
    this.box.setAttribute("aria-busy", "true");
    try {
      const answer = await post("v1/attention", wanted, running.signal);
      if (running !== this.running) return;
      this.weights = new Weights(answer);
      this.#start();
    } catch (error) {
      if (error.name !== "AbortError" && running === this.running) this.#refuse(error.message);
    } finally {
      if (running === this.running) this.box.removeAttribute("aria-busy");
    }
  }

  #refuse(message) {
    this.weights = this.loaded = null;
    show(byId("attention"), false);
    this.problem.textContent = message;
    show(this.problem);
  }

  /** Draws what has arrived; the head that was chosen stays chosen. */
  #start() {
    const there = this.at && this.weights.kinds.includes(this.at.kind) && this.weights.layers(this.at.kind).includes(this.at.layer) && this.at.head < this.weights.across(this.at.kind);
    if (!there) this.at = this.weights.first();
    this.kinds.replaceChildren(this.kinds.firstElementChild, ...this.weights.kinds.map(kind => {
      const input = element("input", { type: "radio", name: "kind", value: kind });
      input.checked = kind === this.at.kind;
      return element("label", {}, input, element("span", {}, KINDS[kind].title));
    }));
    show(byId("attention"));
    this.#draw();
  }

  #like(kind) {
    const layers = this.weights.layers(kind), layer = layers.includes(this.at.layer) ? this.at.layer : layers.at(-1);
    return { kind, layer, head: Math.min(this.at.head, this.weights.across(kind) - 1) };
  }

  #choose(at) {
    this.at = at;
    this.#draw();
  }

  #draw() {
    readColours();
    const { kind, layer, head } = this.at, names = this.#named(), silent = names.every(name => this.off().has(name));
    byId("kind-about").textContent = KINDS[kind].about;
    byId("head-name").replaceChildren(element("code", {}, nameOf(this.at)), head < 0 ? ` mean of the heads of layer ${layer}` : ` layer ${layer}, head ${head}`);
    this.switch.setAttribute("aria-checked", String(!silent));
    this.switch.setAttribute("aria-label", head < 0 ? `All heads of layer ${layer}` : `Head ${nameOf(this.at)}`);
    byId("head-switch-text").textContent = silent ? "Off" : "On";
    this.heads.draw(this.weights, this.at, this.off());
    this.map ??= new HeatMap(this.stage, text => { byId("weights").textContent = text; });
    this.map.draw(this.weights.of(this.at, this.unit), this.weights.rows(kind, this.unit), this.weights.columns(kind, this.unit),
      silent ? "Switched off: no weights." : "Point at a square, or move over the squares with the arrow keys.");
    this.drawnAt = this.stage.clientWidth;
  }

  /** The heads that the switch is about: the chosen one, or all of a layer. */
  #named() {
    const { kind, layer, head } = this.at;
    return head >= 0 ? [nameOf(this.at)] : Array.from({ length: this.weights.across(kind) }, (_, each) => nameOf({ kind, layer, head: each }));
  }

  #toggle() {
    const names = this.#named(), silent = names.every(name => this.off().has(name));
    this.onSwitch(names, silent);
  }
}

/** [kind, layer, head] of a head's name. */
export const tripleOf = name => { const [, kind, layer, head] = name.match(/^(.+)\.(\d+)\.(\d+)$/); return [kind, Number(layer), Number(head)]; };

function factsOf(result, model) {
  const facts = [];
  if (model) facts.push(`Model ${model.name}`);
  if (Number.isFinite(result.confidence)) facts.push(`confidence ${Math.round(100 * result.confidence)} %`);
  if (Number.isFinite(result.score)) facts.push(`score ${result.score.toFixed(2).replace("-", "−")}`);
  for (const finding of result.findings ?? []) facts.push(typeof finding === "string" ? finding : finding.message ?? finding.kind ?? "");
  return facts.filter(fact => fact).join(" · ");
}
