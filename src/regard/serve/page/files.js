// Files: chosen or dropped, translated by the server, downloaded from it.

import { byId, element, show } from "./elements.js";
import { upload } from "./api.js";

export class Files {
  constructor({ pair }) {
    this.pair = pair;
    this.formats = [];
    this.list = byId("files");
    this.input = byId("file");
    this.button = byId("choose-file");
    this.button.addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => { this.#take(this.input.files); this.input.value = ""; });
    addEventListener("dragover", event => { if (this.formats.length && carriesFiles(event)) { event.preventDefault(); document.body.classList.add("dropping"); } });
    for (const type of ["dragleave", "drop"]) addEventListener(type, event => { if (type === "drop" || !event.relatedTarget) document.body.classList.remove("dropping"); });
    addEventListener("drop", event => { if (this.formats.length && carriesFiles(event)) { event.preventDefault(); this.#take(event.dataTransfer.files); } });
  }

  /** What the server translates: endings such as ".docx". */
  allow(formats) {
    this.formats = formats;
    this.input.accept = formats.join(",");
    show(this.button, formats.length > 0);
  }

  #take(files) {
    for (const file of files) this.#translate(file);
  }

  async #translate(file) {
    const state = element("span", { class: "faint" }, "is being translated …");
    const stop = new AbortController(), remove = element("button", { type: "button", class: "quiet" }, "Cancel");
    const item = element("li", {}, element("b", { dir: "auto" }, file.name), " ", state, " ", remove);
    remove.addEventListener("click", () => { stop.abort(); item.remove(); });
    this.list.prepend(item);
    try {
      if (!this.formats.some(ending => file.name.toLowerCase().endsWith(ending.toLowerCase())))
        throw new Error(`This server does not translate such files. It translates ${this.formats.join(", ")}.`);
      const { source, target } = this.pair();
      const { translatedFileUrl } = await upload("translate_file", { file, source: source ?? "auto", target }, stop.signal);
      state.replaceWith(element("a", { href: downloadOf(translatedFileUrl), download: "" }, "Download the translation"));
    } catch (error) {
      if (error.name === "AbortError") return;
      state.className = "problem";
      state.textContent = error.message;
    }
    remove.textContent = "Remove";
  }
}

const carriesFiles = event => [...event.dataTransfer?.types ?? []].includes("Files");

/** The address of a file on this server, whatever host a proxy made of it. */
function downloadOf(url) {
  const name = new URL(url, document.baseURI).pathname.split("/").at(-1);
  return new URL(`download_file/${name}`, document.baseURI).href;
}
