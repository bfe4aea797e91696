// Messages: problems and remarks, one at a time, with a countdown where the page tries again by itself.

import { byId, show } from "./elements.js";

export class Notices {
  constructor() {
    this.box = byId("notice");
    this.text = byId("notice-text");
    this.clock = byId("notice-clock");
    this.action = byId("notice-action");
    this.ticking = 0;
    this.act = null;
    this.action.addEventListener("click", () => this.act?.());
  }

  /** wait: seconds until another try; action: {label, act} for a button. */
  tell(message, { wait = null, action = null, problem = true } = {}) {
    this.clear();
    this.box.classList.toggle("problem", problem);
    show(this.box);
    this.text.textContent = message;
    this.act = action?.act ?? null;
    this.action.textContent = action?.label ?? "";
    show(this.action, Boolean(action));
    if (wait) this.#count(Math.round(wait));
  }

  #count(seconds) {
    this.clock.textContent = seconds > 0 ? `Next try in ${seconds} s.` : "Trying again …";
    if (seconds > 0) this.ticking = setTimeout(() => this.#count(seconds - 1), 1000);
  }

  clear() {
    clearTimeout(this.ticking);
    this.clock.textContent = this.text.textContent = "";
    show(this.box, false);
  }
}
