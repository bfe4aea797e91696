// The lookup: one query of one head, from its question to the mixture of values, step by step.

const FEW = 24;
const lookup = document.getElementById("lookup"), chooser = document.getElementById("query");

/** The head that is looked into: the chosen one, or of a mean the one that is most decided for this query. */
function lookupHead(attention) {
  if (state.head >= 0) return state.head;
  const [H, , S] = attention.shape;
  const peaks = Array.from({ length: H }, (_, head) => Math.max(...weightsOf(attention, head, "pieces").values.slice(state.query * S, state.query * S + S)));
  return peaks.indexOf(Math.max(...peaks));
}

function fillChooser() {
  chooser.replaceChildren(...queriesOf(state.kind).pieces.map((piece, place) => element("option", { value: place }, piece)));
  chooser.value = state.query;
}

function explanation(step, piece, attention, best, weight, formula) {
  const width = attention.strips ? `${attention.width[0]} numbers` : "some numbers";
  return [
    `1. “${piece}” has a query vector of ${width}. Every token that it may attend to has a key vector.`,
    `2. The query is compared with every key: ${formula}. The better a key matches, the higher its score.`,
    "3. The softmax turns the scores into weights: e to the power of each score, divided by the sum over all. The weights add up to 100 %.",
    `4. Every value is multiplied by its weight, and all are added up. Most of the result comes from “${best}” (${percent(weight)}).`,
  ][step - 1];
}

function drawLookup() {
  const attention = attentionOf(state.kind, state.layer), head = lookupHead(attention), name = nameOf(state.kind, state.layer, head);
  const pieces = keysOf(state.kind).pieces, S = attention.shape[2], asks = queriesOf(state.kind).pieces[state.query];
  const weights = weightsOf(attention, head, "pieces").values.slice(state.query * S, state.query * S + S);
  const scores = scoresOf(attention, head, state.query), order = ranked(weights);
  document.getElementById("lookup-head").replaceChildren("in ", element("code", {}, name), state.head < 0 ? " (the head with the highest weight for this token)" : "");
  const note = document.getElementById("lookup-told");
  if (off.has(name)) {
    note.textContent = "This head was switched off, so its output is zero.";
    lookup.replaceChildren();
    return;
  }
  const formula = attention.formula.replace("d", attention.strips ? attention.width[0] : "d");
  note.textContent = explanation(state.step, asks, attention, pieces[order[0]], weights[order[0]], formula);
  const few = pieces.length <= FEW || state.every;
  const listed = (few ? [...weights.keys()] : order.slice(0, FEW).sort((a, b) => a - b)).filter(place => weights[place] > 0 || few);
  const largest = Math.max(...scores.filter(Number.isFinite).map(Math.abs), 1e-6);
  const table = element("table", { class: `step-${state.step}` });
  table.append(head_(attention, formula), element("tbody", {},
    asked(attention, head, asks), ...listed.map(place => answer(attention, head, place, pieces[place], scores[place], weights[place], largest)),
    mixed(attention, head, weights)));
  lookup.replaceChildren(table);
  if (!few || state.every) lookup.append(moreButton(pieces.length - FEW));
}

function head_(attention, formula) {
  const titles = [["key", "Key"], ["score", `Score ${formula}`], ["share", "Weight"], ["value", "Value × weight"]];
  return element("thead", {}, element("tr", {}, ...titles.map(([kind, text]) => element("th", { scope: "col", class: kind }, text))));
}

function asked(attention, head, piece) {
  const vector = vectorOf(attention, 0, head, state.query);
  const cell = element("th", { scope: "row", class: "key query" }, element("span", { class: "piece" }, piece));
  if (vector) cell.append(strip(vector, `the query of ${piece}`));
  cell.append(element("small", {}, "the query"));
  return element("tr", { class: "asked" }, cell, element("td", { class: "score" }), element("td", { class: "share" }), element("td", { class: "value" }));
}

function answer(attention, head, place, piece, score, weight, largest) {
  const key = vectorOf(attention, 1, head, place), value = vectorOf(attention, 2, head, place), may = Number.isFinite(score);
  const first = element("th", { scope: "row", class: "key" }, element("span", { class: "piece" }, piece));
  if (key) first.append(strip(key, `the key of ${piece}`));
  const bar = element("i", { class: score < 0 ? "less" : "more", style: `--size:${may ? (50 * Math.abs(score) / largest).toFixed(1) : 0}%` });
  const share = element("i", { style: `--size:${(100 * weight).toFixed(1)}%` });
  const last = element("td", { class: "value" });
  if (value) { last.append(strip(value, `the value of ${piece}`)); last.style.setProperty("--share", (0.08 + 0.92 * Math.pow(weight, 0.6)).toFixed(2)); }
  else last.textContent = `${percent(weight)} of the value of “${piece}”`;
  return element("tr", { class: may ? "" : "ahead" }, first,
    element("td", { class: "score" }, element("span", { class: "bar both" }, bar), element("b", {}, may ? score.toFixed(2) : "masked")),
    element("td", { class: "share" }, element("span", { class: "bar" }, share), element("b", {}, percent(weight))), last);
}

function mixed(attention, head, weights) {
  const cell = element("td", { class: "value" });
  const first = vectorOf(attention, 2, head, 0);
  if (first) {
    const sum = new Float32Array(first.length);
    weights.forEach((weight, place) => vectorOf(attention, 2, head, place).forEach((value, i) => { sum[i] += weight * value; }));
    cell.append(strip(sum, "the weighted sum of all values"));
  } else cell.textContent = "the weighted sum of all values";
  return element("tr", { class: "mixed" }, element("th", { scope: "row", class: "key" }, "Result"), element("td", { class: "score" }),
    element("td", { class: "share" }, element("b", {}, "100 %")), cell);
}

function moreButton(others) {
  const button = element("button", { type: "button", class: "more-keys" }, state.every ? "Show only the highest weights" : `Show the other ${others}`);
  button.addEventListener("click", () => { state.every = !state.every; drawLookup(); lookup.querySelector(".more-keys").focus(); });
  return button;
}
