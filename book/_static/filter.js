/* Tables in a .filtered box: a field shows the rows that have all its words, a click on a heading sorts by it. */
function makeFiltered(box) {
  const table = box.querySelector("table");
  const rows = [...table.tBodies[0].rows];
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = `Filter ${rows.length} rows`;
  field.setAttribute("aria-label", field.placeholder);
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  box.prepend(field);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const sort = () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent.trim();
      rows.sort((a, b) => (down ? -1 : 1) * text(a).localeCompare(text(b), "en", { numeric: true }));
      table.tBodies[0].append(...rows);
    };
    head.tabIndex = 0;
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}

window.addEventListener("DOMContentLoaded", () => document.querySelectorAll(".filtered").forEach(makeFiltered));
