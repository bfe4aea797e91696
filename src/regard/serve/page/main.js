// The page as a whole: which part tells which other part what.

import { Alternatives } from "./alternatives.js";
import { get, useKey } from "./api.js";
import { copying } from "./copying.js";
import { byId, show } from "./elements.js";
import { Files } from "./files.js";
import { Glossary } from "./glossary.js";
import { Inspector, tripleOf } from "./inspector.js";
import { keyDialog } from "./key.js";
import { Languages } from "./languages.js";
import { Notices } from "./notices.js";
import { Output } from "./output.js";
import { Pointing } from "./pointing.js";
import { Source } from "./source.js";
import { Translating } from "./translating.js";
import { footer, themeSwitch } from "./surroundings.js";

const BEST = 4; // translations of a sentence, the shown one among them

const off = new Map(); // the heads that are switched off, by the name of the model
const chosen = new WeakMap(); // the translation that was chosen instead of the best, by the server's answer
let parts = [];

const heads = () => off.get(languages.current?.name) ?? new Set();
const again = () => { closeSmall(); headsOff(); if (!source.tooLong) translating.now(source.text); };

const notices = new Notices();
const languages = new Languages({ onChange: () => { glossary.count(); again(); }, onSwap: () => { glossary.count(); source.set(output.text || source.text); again(); } });
const source = new Source({ onText: typed, onPoint: word => pointing.at(word), onNow: () => again() });
const output = new Output({ onPoint: word => pointing.at(word), onSentence: (one, focused) => overSentence(one, focused), onOpen: one => opened(one) });
const pointing = new Pointing({ source, output });
const alternatives = new Alternatives({ onChoose: choose, language: () => languages.target.value });
const glossary = new Glossary({ pair: () => languages.likely, name: code => languages.name(code), onChange: () => translating.soon(source.text) });
const files = new Files({ pair: () => ({ source: languages.source.value, target: languages.target.value }) });
const inspector = new Inspector({ off: heads, request: () => ({ ...languages.pair, model: languages.current }), onSwitch: switchHeads, onChoose: choose, onClose: () => {} });
const openKey = keyDialog({ onKey: key => { useKey(key); start(); } });
const translating = new Translating({
  settings, detect: (text, signal) => languages.detect(text, signal), onParts: showParts, onBusy: busy,
  onRemark: remark => { if (remark) { notices.tell(remark, { problem: false }); showParts([], { done: true }); } else notices.clear(); },
  onProblem: (problem, wait) => notices.tell(problem.message, { wait, action: actionFor(problem) }),
});

/** What belongs to a request besides the text. */
function settings() {
  const { source: from, target } = languages.pair, disabled = [...heads()].map(tripleOf);
  return { source: from ?? "auto", target, model: languages.current?.name, n_best: BEST, alignment: true, glossary: glossary.pairs, ...(disabled.length ? { disabled_heads: disabled } : {}) };
}

function typed(text) {
  alternatives.close();
  pointing.at(null);
  if (!text.trim()) { languages.forget(); notices.clear(); }
  if (source.tooLong) { translating.now(""); notices.tell(`The text has more than ${source.limit.toLocaleString("en")} characters. Shorten it, or translate it as a file.`); return; }
  translating.soon(text);
}

function showParts(latest, { done }) {
  parts = latest;
  for (const part of parts) if (part.result) part.shown = chosen.get(part.result) ?? part.result.text;
  output.show(parts, languages.target.value);
  if (parts.some(part => part.result)) source.mark(parts);
  byId("copy").disabled = !output.text;
  glossary.count();
  headsOff();
  if (done) inspector.refresh(output.sentences);
}

let late = 0;
function busy(is) {
  clearTimeout(late);
  byId("target-pane").setAttribute("aria-busy", is);
  if (is) late = setTimeout(() => show(byId("working")), 150);
  else show(byId("working"), false);
}

function actionFor(problem) {
  if (problem.kind === "key") return { label: "Enter an API key", act: openKey };
  return problem.kind === "refused" ? null : { label: "Try now", act: () => start() };
}

function overSentence(one, focused = false) {
  for (const part of parts) part.mirrored?.classList.toggle("on", part === one?.part);
  for (const other of output.sentences) other.node.classList.toggle("on", other === one);
  alternatives.at(one === inspector.one ? null : one, focused); // an open sentence lists them below
}

function opened(one) {
  if (one.part.shown === undefined) return;
  alternatives.close();
  inspector.toggle(one);
}

/** Another translation of a sentence takes the place of the one that is shown. */
function choose(part, text) {
  chosen.set(part.result, text);
  for (const each of parts) delete each.links;
  showParts(parts, { done: true });
}

function switchHeads(names, on) {
  const model = languages.current.name, now = new Set(heads());
  for (const name of names) if (on) now.delete(name); else now.add(name);
  off.set(model, now);
  again();
}

/** Says which heads are switched off: the translation is not the model's usual one. */
function headsOff() {
  const names = [...heads()];
  byId("heads-off-names").textContent = names.length > 3 ? `${names.length} heads are switched off.` : names.length ? `Switched off: ${names.join(", ")}.` : "";
  show(byId("heads-off"), names.length > 0);
}

function closeSmall() {
  alternatives.close();
  pointing.at(null);
}

byId("all-on").addEventListener("click", () => { off.delete(languages.current?.name); again(); });
addEventListener("keydown", event => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (alternatives.one) { const { node } = alternatives.one, inside = alternatives.box.contains(document.activeElement); alternatives.close(); if (inside) node.focus(); }
  else inspector.close(true);
});
copying(output);
themeSwitch();

/** Asks the server what it can do, then translates what is in the field. */
async function start() {
  try {
    const asked = new URLSearchParams(location.search), abilities = await get("frontend/settings");
    source.setLimit(abilities.charLimit);
    files.allow(abilities.filesTranslation ? abilities.supportedFilesFormat ?? [] : []);
    show(byId("open-key"), Boolean(abilities.keyRequired));
    if (!languages.models.length) await languages.load({ source: asked.get("source") ?? undefined, target: asked.get("target") ?? undefined });
    footer(languages.models);
    notices.clear();
    if (!languages.targets.size) { notices.tell("This server has no model that translates."); return; }
    if (!source.text && asked.get("q")) source.set(asked.get("q")); else if (source.text) again();
    glossary.count();
  } catch (problem) {
    notices.tell(problem.message, { action: actionFor(problem), wait: problem.wait });
    if (problem.wait) setTimeout(start, 1000 * problem.wait);
  }
}
start();
