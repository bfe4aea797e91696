// Copying the translation, also where the clipboard is closed to pages that do not come over HTTPS.

import { byId } from "./elements.js";

export function copying(output) {
  const button = byId("copy");
  let clock = 0;
  button.addEventListener("click", async () => {
    const done = await copied(output.text, output.box);
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    clearTimeout(clock);
    clock = setTimeout(() => { button.textContent = "Copy"; }, 1600);
  });
}

async function copied(text, box) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection().selectAllChildren(box);
    return document.execCommand("copy");
  }
}
