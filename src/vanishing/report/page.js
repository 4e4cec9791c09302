"use strict";
(() => {
  const root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  document.getElementById("theme").addEventListener("click", () => {
    const shown = root.dataset.theme || (prefersDark.matches ? "dark" : "light");
    root.dataset.theme = shown === "dark" ? "light" : "dark";
  });

  const texts = new Intl.Collator(undefined, { numeric: true });
  const key = (row, k) => {
    const cell = row.cells[k];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  // NaN comes last in either direction.
  const compare = (a, b, sign) => {
    if (typeof a === "number" && typeof b === "number") {
      return Number.isNaN(a) - Number.isNaN(b) || sign * (a - b);
    }
    return sign * texts.compare(a, b);
  };
  const sort = (table, heading, k) => {
    const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compare(key(a, k), key(b, k), sign));
    table.tBodies[0].append(...rows);
  };
  const searchable = (row) => [row, ...row.querySelectorAll("[aria-label]")]
    .map((part) => part.getAttribute("aria-label") || part.textContent).join(" ").toLowerCase();
  const search = (box, words) => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    let nShown = 0;
    for (const row of box.querySelector("tbody").rows) {
      const text = searchable(row);
      row.hidden = !wanted.every((word) => text.includes(word));
      nShown += !row.hidden;
    }
    box.querySelector("output").textContent = `${nShown.toLocaleString("en")} ${box.dataset.name}`;
  };
  for (const box of document.querySelectorAll(".table")) {
    const table = box.querySelector("table");
    [...table.tHead.rows[0].cells].forEach((heading, k) => {
      heading.querySelector("button").addEventListener("click", () => sort(table, heading, k));
    });
    const field = box.querySelector("input");
    if (field) field.addEventListener("input", () => search(box, field.value));
  }
})();
