// Tables that sort by the column whose heading is chosen; once more turns the order round.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const turn = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", turn < 0 ? "descending" : "ascending");
    const value = row => row.cells[column].dataset.by;
    const compare = (a, b) => value(a) === undefined ? a.cells[column].textContent.localeCompare(b.cells[column].textContent) : value(a) - value(b);
    body.append(...[...body.rows].sort((a, b) => turn * compare(a, b)));
  }));
}
