// Around the translation: the theme switch, and the models in the footer.

import { byId, element } from "./elements.js";

export function themeSwitch() {
  const button = byId("theme"), root = document.documentElement;
  const draw = () => button.setAttribute("aria-pressed", root.dataset.theme === "dark");
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try { localStorage.setItem("regard.theme", root.dataset.theme); } catch { /* Private windows may refuse; the theme then lives as long as the page. */ }
    dispatchEvent(new Event("themechange"));
  });
  addEventListener("themechange", draw);
  draw();
}

/** The models by name, each with a link to its card on this server. */
export function footer(models) {
  const links = models.map(model => model.card ? element("a", { href: cardOf(model.card) }, model.name) : model.name);
  byId("models").replaceChildren("Models: ", ...links.flatMap((link, i) => i ? [", ", link] : [link]), " · ");
}

/** An address on this server; anything else leads nowhere. */
function cardOf(address) {
  const url = new URL(address.replace(/^\//, ""), document.baseURI);
  return url.origin === location.origin ? url.href : "#";
}
