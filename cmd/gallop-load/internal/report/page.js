"use strict";
// Makes the headings of tables buttons that sort the rows. It has no ampersand and no less-than sign, so that the page is
// well-formed XML.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (body.rows.length > 1) table.querySelectorAll("thead th").forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const rows = [...body.rows].sort((a, b) => key(a).localeCompare(key(b), "en", { numeric: true }));
      if ("value" in body.rows[0].cells[column].dataset) rows.sort((a, b) => key(a) - key(b));
      if (down) rows.reverse();
      body.append(...rows);
    });
  });
}
