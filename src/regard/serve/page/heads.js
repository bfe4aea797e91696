// All heads of one kind of attention as small pictures, of which one is chosen.

import { byId, element, walk } from "./elements.js";
import { thumbnail } from "./heatmap.js";
import { nameOf } from "./weights.js";

export class Heads {
  constructor({ onChoose }) {
    this.onChoose = onChoose;
    this.grid = byId("heads");
    this.buttons = [];
  }

  /** Draws the heads of the chosen head's kind. Buttons stay, and keep the focus, while their number stays. */
  draw(weights, chosen, silent) {
    const heads = weights.across(chosen.kind), layers = weights.layers(chosen.kind), across = heads + (heads > 1 ? 1 : 0);
    const shape = `${chosen.kind} ${layers} ${heads}`;
    if (shape !== this.shape) { this.shape = shape; this.#build(chosen.kind, layers, heads, across); }
    for (const button of this.buttons) {
      const name = nameOf(button.at), is = name === nameOf(chosen), off = silent.has(name);
      button.setAttribute("aria-checked", is);
      button.tabIndex = is ? 0 : -1;
      button.classList.toggle("off", off);
      const what = button.at.head < 0 ? `Mean of the heads of layer ${button.at.layer}` : `Layer ${button.at.layer}, head ${button.at.head}`;
      button.setAttribute("aria-label", off ? `${what}, switched off` : what);
      thumbnail(button.firstChild, weights.of(button.at, "pieces"));
    }
  }

  #build(kind, layers, heads, across) {
    const label = text => element("span", { class: "number", "aria-hidden": "true" }, text);
    const nodes = [label(""), ...Array.from({ length: heads }, (_, head) => label(`${head}`))];
    if (across > heads) nodes.push(label("mean"));
    this.buttons = [];
    for (const layer of layers) {
      nodes.push(label(`${layer}`));
      for (let head = 0; head < across; head++) nodes.push(this.#button({ kind, layer, head: head < heads ? head : -1 }));
    }
    this.grid.style.setProperty("--across", across);
    this.grid.replaceChildren(...nodes);
    walk(this.buttons, across, button => this.onChoose(button.at));
  }

  #button(at) {
    const button = element("button", { type: "button", role: "radio", class: "thumb", title: nameOf(at), "data-name": nameOf(at) }, element("canvas", { "aria-hidden": "true" }));
    button.at = at;
    button.addEventListener("click", () => this.onChoose(at));
    this.buttons.push(button);
    return button;
  }
}
