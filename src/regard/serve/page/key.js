// The API key, for servers that need one. It lives in the memory of this page only.

import { byId } from "./elements.js";

/** Returns a function that opens the dialog. */
export function keyDialog({ onKey }) {
  const dialog = byId("key"), field = byId("key-field");
  const open = () => { dialog.showModal(); field.focus(); };
  byId("open-key").addEventListener("click", open);
  byId("key-close").addEventListener("click", () => dialog.close());
  byId("key-form").addEventListener("submit", event => { event.preventDefault(); dialog.close(); onKey(field.value); });
  return open;
}
