// Light or dark: what was chosen here, or else what the system prefers. It runs before the page is drawn.
(() => {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => { try { return localStorage.getItem("regard.theme"); } catch { return null; } };
  const apply = () => { root.dataset.theme = chosen() ?? (system.matches ? "dark" : "light"); };
  apply();
  system.addEventListener("change", () => { apply(); dispatchEvent(new Event("themechange")); });
})();
