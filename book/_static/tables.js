/* Tables that a replication page loads when somebody comes near: rows to filter and to sort, and the card of a number. */
var Replication = (function () {
  const here = document.currentScript.src, waiting = {}, loaded = {}, delivered = {};

  /** Called by `replication-NAME.js`, which holds the data. A page from the disk may fetch nothing but scripts. */
  function deliver(name, data) {
    delivered[name] = data;
    waiting[name](data);
  }

  function load(name) {
    loaded[name] ??= new Promise((resolve, reject) => {
      waiting[name] = resolve;
      const script = document.createElement("script");
      script.src = new URL(`replication-${name}.js`, here).href;
      script.onerror = () => reject(new Error(`${script.src} could not be loaded.`));
      document.head.append(script);
    });
    return loaded[name];
  }

  function refuse(box, error) {
    box.replaceChildren(element("p", "", { role: "alert" }));
    box.firstChild.textContent = `The data of this table are missing: ${error.message}`;
  }

  function element(name, inner = "", attributes = {}) {
    const made = Object.assign(document.createElement(name), { innerHTML: inner });
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  /** A field that shows the rows with all its words, above a table that the buttons in its heading sort. */
  function fill(box, data) {
    if (box.querySelector("table")) return;
    const { head, rows } = data[box.dataset.table];
    const lines = rows.map((cells) => element("tr", cells.map((cell, place) =>
      `<td data-head="${head[place]}">${cell}</td>`).join("")));
    const body = element("tbody"), heads = head.map((name) => element("th", name && `<button type="button">${name}</button>`, { scope: "col" }));
    const field = element("input", "", { type: "search", class: "filter", placeholder: `Filter ${rows.length} rows` });
    field.setAttribute("aria-label", field.placeholder);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const line of lines) line.hidden = !words.every((word) => line.textContent.toLowerCase().includes(word));
    });
    heads.forEach((cell, column) => {
      const sort = () => {
        const down = cell.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        const text = (line) => line.cells[column].textContent.trim();
        lines.sort((a, b) => (down ? -1 : 1) * text(a).localeCompare(text(b), "en", { numeric: true }));
        body.append(...lines);
      };
      cell.addEventListener("click", sort); // of its button, too, by Enter and by Space
    });
    const row = element("tr"), top = element("thead"), table = element("table", "", { class: "table" });
    row.append(...heads);
    top.append(row);
    body.append(...lines);
    table.append(top, body);
    const frame = element("div", "", { class: "loaded-rows", tabindex: 0 });
    frame.append(table);
    box.replaceChildren(field, frame);
    window.MathJax?.typesetPromise?.([box]);
  }

  /** The runs of a number as dots on a line, beside what is reported and its error. */
  function dots({ reported: [mean, error], runs }) {
    const all = [mean - error, mean + error, ...runs], low = Math.min(...all), high = Math.max(...all);
    const at = (value) => 10 + 280 * (high > low ? (value - low) / (high - low) : 0.5);
    const marks = runs.map((value) => `<circle cx="${at(value)}" cy="30" r="4" class="run"/>`).join("");
    return `<svg viewBox="0 0 300 44" role="img" aria-label="${runs.length} runs as dots, from ${low} to ${high}">
      <line x1="${at(mean - error)}" x2="${at(mean + error)}" y1="12" y2="12" class="reported"/>
      <path d="M${at(mean)} 7l5 5l-5 5l-5 -5z" class="reported"/>${marks}</svg>`;
  }

  function follow(box) {
    document.querySelectorAll("a.square").forEach((square) => square.addEventListener("click", async (event) => {
      event.preventDefault();
      const data = await load(box.dataset.from).catch((error) => refuse(box, error));
      if (!data) return;
      const card = data.cards[square.hash.slice(1)];
      box.replaceChildren(
        element("strong", card.title), element("p", card.words),
        element("div", `${dots(card)}<small>diamond: reported, with its error; dots: our runs</small>`),
      );
      document.querySelectorAll("a.square[aria-current]").forEach((each) => each.removeAttribute("aria-current"));
      square.setAttribute("aria-current", "true");
    }));
  }

  function fetch(box) {
    return load(box.dataset.from).then((data) => fill(box, data)).catch((error) => refuse(box, error));
  }

  window.addEventListener("DOMContentLoaded", () => {
    const boxes = document.querySelectorAll(".loaded");
    document.querySelectorAll(".entry-card").forEach(follow);
    const near = new IntersectionObserver((seen) => seen.filter((each) => each.isIntersecting).forEach((each) => {
      near.unobserve(each.target);
      fetch(each.target);
    }), { rootMargin: "800px" });
    boxes.forEach((box) => near.observe(box));
    // Paper waits for nothing: the data are there before somebody prints.
    window.addEventListener("load", () => boxes.forEach((box) => load(box.dataset.from).catch(() => {})));
    window.addEventListener("beforeprint", () => boxes.forEach((box) => {
      if (delivered[box.dataset.from]) fill(box, delivered[box.dataset.from]);
    }));
  });

  return { deliver };
})();
