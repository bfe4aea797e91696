// What drawings share: the colours of the style, canvases that are sharp, elements.

const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
};

let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const rgb = name => {
    const code = style.getPropertyValue(name).trim().slice(1);
    return [0, 2, 4].map(i => parseInt(code.slice(i, i + 2), 16));
  };
  colours = { ink: rgb("--ink"), faint: rgb("--faint"), card: rgb("--card"), none: rgb("--weight-0"), half: rgb("--weight-50"),
    all: rgb("--weight-100"), more: rgb("--more"), less: rgb("--less"), zero: rgb("--zero") };
}

const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
const between = (from, to, share) => from.map((value, i) => Math.round(value + (to[i] - value) * share));

/** The colour of a weight: small ones are lifted, so that they can be seen. */
function shade(weight) {
  const lifted = Math.pow(Math.min(1, weight), 0.6);
  return lifted < 0.5 ? between(colours.none, colours.half, 2 * lifted) : between(colours.half, colours.all, 2 * lifted - 1);
}
const tone = value => value < 0 ? between(colours.zero, colours.less, -value) : between(colours.zero, colours.more, value);

/** A picture with one dot for each number; the style makes it as large as it should be. */
function paint(canvas, columns, rows, values, colour) {
  canvas.width = columns;
  canvas.height = rows;
  const image = new ImageData(columns, rows);
  values.forEach((value, i) => image.data.set([...colour(value), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function strip(vector, label) {
  const canvas = element("canvas", { class: "strip", role: "img", "aria-label": label });
  paint(canvas, vector.length, 1, vector, tone);
  return canvas;
}

/** Arrow keys walk through buttons of which one at a time can be reached by Tab. */
function walk(buttons, across, choose) {
  buttons.forEach((button, place) => button.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    const next = event.key === "Home" ? buttons[0] : event.key === "End" ? buttons.at(-1) : step && buttons[place + step];
    if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") event.preventDefault();
    if (next) { next.focus(); choose(next); }
  }));
}
