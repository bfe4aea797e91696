// The map: all layers and heads of all kinds as small pictures, one of them chosen.

const thumbnails = new Map();

function buildMap() {
  const map = document.getElementById("map");
  for (const { kind, title } of data.kinds) {
    const layers = layersOf(kind), heads = Math.max(...layers.map(layer => attentionOf(kind, layer).shape[0]));
    const several = heads > 1, across = heads + (several ? 1 : 0);
    const grid = element("div", { class: "heads", role: "radiogroup", "aria-label": title, style: `--across:${across}` });
    grid.append(element("span", { class: "corner", "aria-hidden": "true" }));
    for (let head = 0; head < heads; head++) grid.append(element("span", { class: "number", "aria-hidden": "true" }, `${head}`));
    if (several) grid.append(element("span", { class: "number", "aria-hidden": "true" }, "mean"));
    const buttons = [];
    for (const layer of layers) {
      grid.append(element("span", { class: "number", "aria-hidden": "true" }, `${layer}`));
      for (let head = 0; head < across; head++) buttons.push(thumbnail(grid, kind, layer, head < heads ? head : -1));
    }
    walk(buttons, across, button => choose(button.at));
    map.append(element("div", { class: "panel", "data-kind": kind },
      element("h3", {}, title), element("p", { class: "axes", "aria-hidden": "true" }, "head → · layer ↓"), grid));
  }
}

function thumbnail(grid, kind, layer, head) {
  const name = nameOf(kind, layer, head), silent = off.has(name);
  const what = head < 0 ? `mean of the heads of layer ${layer}` : `layer ${layer}, head ${head}`;
  const button = element("button", { type: "button", role: "radio", class: silent ? "thumb off" : "thumb", title: silent ? `${name}, switched off` : name,
    "aria-label": silent ? `${what}, switched off` : what, "data-name": name }, element("canvas", { "aria-hidden": "true" }));
  button.at = { kind, layer, head };
  button.addEventListener("click", () => choose(button.at));
  thumbnails.set(name, button);
  grid.append(button);
  return button;
}

function paintMap() {
  for (const button of thumbnails.values()) {
    const { kind, layer, head } = button.at;
    const { rows, columns, values } = weightsOf(attentionOf(kind, layer), head, "pieces");
    paint(button.firstChild, columns, rows, values, shade);
  }
}

function markMap() {
  for (const kind of data.kinds.map(each => each.kind)) {
    const chosen = kind === state.kind ? nameOf(state.kind, state.layer, state.head) : null;
    const own = [...thumbnails.values()].filter(button => button.at.kind === kind);
    own.forEach((button, place) => {
      const is = button.dataset.name === chosen;
      button.setAttribute("aria-checked", is);
      button.tabIndex = is || (chosen === null && place === 0) ? 0 : -1;
    });
  }
}
