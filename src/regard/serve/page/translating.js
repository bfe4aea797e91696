// Translation as one types: after a short pause, only what is not known yet, and nothing that is outdated.

import { post, Problem } from "./api.js";
import { partsOf } from "./sentences.js";

const PAUSE = 220; // milliseconds without a key before a request
const FIRST = 8, OTHERS = 24; // sentences in a request: few at first, so that something appears soon
const MOST_CHARACTERS = 1500; // in a request of several sentences
const MOST_KEPT = 3000; // translations

export class Translating {
  /** settings() gives what belongs to a request; onParts(parts, done) shows the translation so far. */
  constructor({ settings, detect, onParts, onBusy, onProblem, onRemark }) {
    Object.assign(this, { settings, detect, onParts, onBusy, onProblem, onRemark });
    this.kept = new Map();
    this.text = "";
    this.clock = 0;
    this.tries = 0;
    this.run = null;
    addEventListener("online", () => { if (this.tries) this.now(); });
  }

  /** The text has changed: translate it after a pause. */
  soon(text) {
    this.text = text;
    this.#schedule(text.trim() ? PAUSE : 0);
  }

  /** Translates the text at once, for example because the language has changed. */
  now(text = this.text) {
    this.text = text;
    this.#schedule(0);
  }

  #schedule(milliseconds) {
    clearTimeout(this.clock);
    this.run?.abort();
    this.run = null;
    if (milliseconds) this.clock = setTimeout(() => this.#start(), milliseconds);
    else this.#start();
  }

  async #start() {
    const run = this.run = new AbortController(), current = () => this.run === run;
    const parts = partsOf(this.text);
    if (!parts.some(part => part.text)) {
      this.tries = 0;
      this.onBusy(false);
      this.onParts(parts, { done: true, settings: null });
      return;
    }
    this.onBusy(true);
    try {
      const remark = await this.detect(this.text, run.signal);
      if (!current()) return;
      this.onRemark(remark);
      if (!remark) await this.#fill(parts, run, current);
      if (current()) this.tries = 0;
    } catch (error) {
      if (current() && error.name !== "AbortError") this.#fail(error);
    } finally {
      if (current()) this.onBusy(false);
    }
  }

  /** Translates the sentences that are not known, some at a time, and shows the result after each answer. */
  async #fill(parts, run, current) {
    const settings = this.settings(), missing = new Set();
    for (const part of parts) if (part.text && !this.#known(settings, part)) missing.add(part.text);
    this.onParts(parts, { done: !missing.size, settings });
    const rest = [...missing];
    for (let size = FIRST; rest.length; size = OTHERS) {
      const texts = rest.splice(0, fitting(rest, size)), { translations } = await post("v1/translate", { ...settings, text: texts }, run.signal);
      if (!current()) return;
      if (translations?.length !== texts.length) throw new Problem("server", "The server sent fewer translations than texts.");
      texts.forEach((text, i) => this.#keep(settings, text, translations[i]));
      for (const part of parts) if (part.text) this.#known(settings, part);
      this.onParts(parts, { done: !rest.length, settings });
    }
  }

  #known(settings, part) {
    const key = keyOf(settings, part.text), found = this.kept.get(key);
    if (found) { this.kept.delete(key); this.kept.set(key, found); part.result = found; }
    return found;
  }

  #keep(settings, text, result) {
    this.kept.set(keyOf(settings, text), result);
    if (this.kept.size > MOST_KEPT) this.kept.delete(this.kept.keys().next().value);
  }

  /** Shows a problem; tries again later where that may help, ever more rarely. */
  #fail(error) {
    const problem = error instanceof Problem ? error : new Problem("server", `Something went wrong in this page: ${error.message}`);
    const wait = problem.wait && Math.min(60, problem.kind === "offline" ? problem.wait * 2 ** Math.min(this.tries, 4) : problem.wait);
    this.tries += 1;
    this.onProblem(problem, wait);
    if (wait) this.clock = setTimeout(() => this.#start(), 1000 * wait);
  }
}

const keyOf = (settings, text) => JSON.stringify([text, settings]);

/** How many of the first sentences fit into a request. */
function fitting(texts, most) {
  let count = 1, characters = texts[0].length;
  while (count < Math.min(most, texts.length) && characters + texts[count].length <= MOST_CHARACTERS) characters += texts[count++].length;
  return count;
}
