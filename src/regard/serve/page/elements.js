// Elements of the page. Text always enters as text: nothing here parses HTML.

export const byId = id => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== false) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Shows or hides an element. */
export const show = (node, visible = true) => { node.hidden = !visible; };

/** Arrow keys, Home and End walk through elements of which only one is reached by Tab. */
export function walk(buttons, across, choose) {
  buttons.forEach((button, place) => button.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    const next = event.key === "Home" ? buttons[0] : event.key === "End" ? buttons.at(-1) : step && buttons[place + step];
    if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") event.preventDefault();
    if (next) { next.focus(); choose(next); }
  }));
}
