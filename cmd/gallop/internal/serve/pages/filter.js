// Shows the rows whose names contain all the words in the filter box. The fragment of the URL keeps
// the words, so that reloading and sorting do not lose them.
(() => {
  const box = document.querySelector("input");
  const rows = [...document.querySelectorAll("tbody tr:not(.up)")];
  const names = rows.map((row) => row.querySelector("a").textContent.toLowerCase());
  const sorts = [...document.querySelectorAll("th a")];
  const note = document.querySelector("#none"), count = document.querySelector("#shown");

  const filter = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => names[i].includes(word));
      if (!row.hidden) shown++;
    });
    note.hidden = shown > 0 || words.length == 0;
    count.hidden = words.length == 0;
    count.textContent = shown + " of " + rows.length + " shown · ";
    for (const a of sorts) a.hash = words.length ? encodeURIComponent(box.value) : "";
  };

  box.addEventListener("input", () => {
    filter();
    history.replaceState(null, "", box.value ? "#" + encodeURIComponent(box.value) : location.pathname + location.search);
  });
  box.addEventListener("keydown", (event) => {
    const first = rows.find((row) => !row.hidden);
    if (event.key == "Enter" && first) first.querySelector("a").click();
    if (event.key == "Escape" && box.value) {
      event.preventDefault();
      box.value = "";
      box.dispatchEvent(new Event("input"));
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key == "/" && document.activeElement != box && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      box.focus();
      box.select();
    }
  });

  try {
    box.value = decodeURIComponent(location.hash.slice(1));
  } catch {}
  box.hidden = rows.length < 2;
  filter();
})();
