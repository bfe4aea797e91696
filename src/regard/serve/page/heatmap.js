// Drawings of weights: small pictures of heads, and one head as a large heat map with its words.

import { element } from "./elements.js";
import { percent } from "./weights.js";

let colours = {};

/** Reads the colours of the style, again after the theme has changed. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const rgb = name => { const code = style.getPropertyValue(name).trim().slice(1); return [0, 2, 4].map(i => parseInt(code.slice(i, i + 2), 16)); };
  colours = { ink: rgb("--ink"), faint: rgb("--faint"), none: rgb("--weight-0"), half: rgb("--weight-50"), all: rgb("--weight-100") };
}

const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
const between = (from, to, share) => from.map((value, i) => Math.round(value + (to[i] - value) * share));

/** The colour of a weight: small ones are lifted, so that they can be seen. */
function shade(weight) {
  const lifted = Math.pow(Math.min(1, weight), 0.6);
  return lifted < 0.5 ? between(colours.none, colours.half, 2 * lifted) : between(colours.half, colours.all, 2 * lifted - 1);
}

/** A picture with one dot for each weight; the style makes it as large as it should be. */
export function thumbnail(canvas, { rows, columns, values }) {
  Object.assign(canvas, { width: columns, height: rows });
  const image = new ImageData(columns, rows);
  values.forEach((value, i) => image.data.set([...shade(value), 255], 4 * i));
  canvas.getContext("2d").putImageData(image, 0, 0);
}

function textWidth(labels, size) {
  const context = element("canvas").getContext("2d");
  context.font = `${size}px system-ui, sans-serif`;
  return Math.max(...labels.map(label => context.measureText(label).width));
}

/** A heat map that pointer and arrow keys move over; `tell` gets a sentence about the square. */
export class HeatMap {
  constructor(stage, tell) {
    Object.assign(this, { stage, tell });
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-roledescription": "heat map", "aria-describedby": "weights" });
    stage.append(this.canvas);
    this.at = { row: null, column: null };
    this.canvas.addEventListener("pointermove", event => this.#go(this.#place(event)));
    this.canvas.addEventListener("pointerdown", event => this.#go(this.#place(event)));
    this.canvas.addEventListener("pointerleave", () => this.#go({ row: null, column: null }));
    this.canvas.addEventListener("keydown", event => this.#key(event));
  }

  /** Draws weights with the labels of their rows and columns; `rest` is what it says while nothing is pointed at. */
  draw(weights, rowLabels, columnLabels, rest) {
    Object.assign(this, { weights, rowLabels, columnLabels, rest });
    const { rows, columns } = weights, roomy = Math.max(rows, columns) <= 40, size = roomy ? 14 : 11;
    const left = Math.min(130, textWidth(rowLabels, size) + 14), slant = Math.min(130, textWidth(columnLabels, size));
    const top = slant * 0.72 + 22, right = slant * 0.72 + 4;
    const cell = Math.max(roomy ? 18 : 12, Math.min(42, Math.floor((this.stage.clientWidth - left - right) / columns)));
    this.box = { left, top, cell, size, width: left + columns * cell + right, height: top + rows * cell + 4 };
    this.canvas.setAttribute("aria-label", `Weights of ${rows} queries for ${columns} keys. Move with the arrow keys.`);
    this.at = { row: this.at.row < rows ? this.at.row : null, column: this.at.column < columns ? this.at.column : null };
    this.#paint();
    this.#say();
  }

  #paint() {
    const { left, top, cell, width, height } = this.box, { rows, columns, values } = this.weights, sharp = window.devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * sharp, height: height * sharp });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const context = this.canvas.getContext("2d");
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    values.forEach((value, i) => {
      context.fillStyle = css(shade(value));
      context.fillRect(left + (i % columns) * cell, top + Math.floor(i / columns) * cell, cell - 1, cell - 1);
    });
    this.#label(context);
    context.strokeStyle = css(colours.ink, 0.75);
    context.lineWidth = 1.5;
    if (this.at.row !== null) context.strokeRect(left - 1, top + this.at.row * cell - 1, columns * cell + 1, cell + 1);
    if (this.at.column !== null) context.strokeRect(left + this.at.column * cell - 1, top - 1, cell + 1, rows * cell + 1);
  }

  #label(context) {
    const { left, top, cell, size } = this.box, { columns, values } = this.weights, { row: atRow, column: atColumn } = this.at;
    const pen = chosen => { context.fillStyle = css(chosen ? colours.ink : colours.faint); context.font = `${chosen ? "650 " : ""}${size}px system-ui, sans-serif`; };
    context.textBaseline = "middle";
    context.textAlign = "right";
    this.rowLabels.forEach((text, row) => { pen(row === atRow); context.fillText(text, left - 8, top + (row + 0.5) * cell, left - 8); });
    context.textAlign = "left";
    this.columnLabels.forEach((text, column) => {
      pen(column === atColumn || (atRow !== null && values[atRow * columns + column] > 0.2));
      context.save();
      context.translate(left + (column + 0.45) * cell, top - 8);
      context.rotate(-Math.PI / 4);
      context.fillText(text, 0, 0, 130);
      context.restore();
    });
  }

  #place(event) {
    const { left, top, cell } = this.box, { rows, columns } = this.weights, area = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - area.left - left) / cell), row = Math.floor((event.clientY - area.top - top) / cell);
    return { row: row >= 0 && row < rows && column < columns ? row : null, column: column >= 0 && column < columns && row < rows ? column : null };
  }

  #go(to) {
    if (to.row === this.at.row && to.column === this.at.column) return;
    this.at = to;
    this.#paint();
    this.#say();
  }

  #key(event) {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const { row, column } = this.at, keep = (value, count) => Math.max(0, Math.min(count - 1, value));
    this.#go(row === null || column === null ? { row: row ?? 0, column: column ?? 0 }
      : { row: keep(row + step[0], this.weights.rows), column: keep(column + step[1], this.weights.columns) });
  }

  #say() {
    const { row, column } = this.at, { rows, columns, values } = this.weights;
    if (row !== null && column !== null) this.tell(`“${this.rowLabels[row]}” attends to “${this.columnLabels[column]}” with ${percent(values[row * columns + column])}.`);
    else if (row !== null) this.tell(`“${this.rowLabels[row]}” attends to ${best(values.slice(row * columns, (row + 1) * columns), this.columnLabels)}.`);
    else if (column !== null) this.tell(`“${this.columnLabels[column]}” is attended to by ${best(Array.from({ length: rows }, (_, i) => values[i * columns + column]), this.rowLabels)}.`);
    else this.tell(this.rest);
  }
}

function best(values, labels) {
  const places = Array.from(values.keys()).sort((a, b) => values[b] - values[a]).filter(i => values[i] >= 0.005).slice(0, 4);
  return places.map(i => `“${labels[i]}” (${percent(values[i])})`).join(", ") || "nothing";
}
