/* The map of a replication page: a square that is selected shows its runs in place, under itself. */
(function () {
  const NS = "http://www.w3.org/2000/svg";

  function add(parent, name, attributes, text = "") {
    const made = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    parent.append(made);
  }

  /** The runs of a number as dots on a line, under the reported mean and its interval. */
  function dots([mean, half, ...runs]) {
    const all = [mean - half, mean + half, ...runs], low = Math.min(...all), high = Math.max(...all);
    const margin = Math.max(high - low, 1) * 0.1, from = low - margin, to = high + margin;
    const at = (value) => 10 + (280 * (value - from)) / (to - from);
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("viewBox", "0 0 300 62");
    svg.setAttribute("class", "dots");
    add(svg, "path", { class: "axis", d: "M10 42H290" });
    add(svg, "path", { class: "reported", d: `M${at(mean - half)} 10H${at(mean + half)}` });
    add(svg, "path", { class: "reported mean", d: `M${at(mean)} 5l5 5l-5 5l-5 -5z` });
    runs.sort((a, b) => a - b).forEach((value, place) =>
      add(svg, "circle", { class: "run", cx: at(value), cy: 28 + 5 * ((place % 3) - 1), r: 4 }));
    for (const value of new Set([low, high])) {
      add(svg, "text", { x: at(value), y: 57, "text-anchor": "middle" }, String(+value.toPrecision(3)));
    }
    return svg;
  }

  window.addEventListener("DOMContentLoaded", () => {
    const card = document.createElement("div"), words = document.createElement("p");
    card.className = "entry-card";
    card.setAttribute("role", "status");
    let open = null;

    function close() {
      open?.removeAttribute("aria-expanded");
      open = null;
      card.remove();
    }

    function show(square) {
      open = square;
      square.setAttribute("aria-expanded", "true");
      words.textContent = square.getAttribute("aria-label");
      card.replaceChildren(words);
      const values = square.dataset.runs.split(" ").map(Number);
      if (values.length > 2) {
        const small = document.createElement("small");
        small.textContent = "Diamond and line: reported, with its 95 % interval. Dots: our runs.";
        card.append(dots(values), small);
      }
      const map = square.closest(".glance-tables"), here = map.getBoundingClientRect(), at = square.getBoundingClientRect();
      map.append(card);
      card.style.top = `${at.bottom - here.top + 6}px`;
      card.style.left = `${Math.max(0, Math.min(at.left - here.left - 20, here.width - card.offsetWidth))}px`;
      card.scrollIntoView({ block: "nearest" });
    }

    document.addEventListener("click", (event) => {
      const square = event.target.closest("button.square"), again = square === open;
      if (event.target.closest(".entry-card")) return;
      close();
      if (square && !again) show(square);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && open) {
        const square = open;
        close();
        square.focus();
      }
    });
    window.addEventListener("resize", close);
  });

  // A picture of the gallery opens over the page, as large as the window allows.
  window.addEventListener("DOMContentLoaded", () => {
    const pictures = document.querySelectorAll(".gallery-entry button");
    if (!pictures.length) return;
    const frame = document.createElement("dialog"), large = document.createElement("img"), shut = document.createElement("button");
    frame.className = "enlarged";
    shut.type = "button";
    shut.textContent = "Close";
    frame.append(large, shut);
    document.body.append(frame);
    frame.addEventListener("click", () => frame.close());
    for (const button of pictures) {
      button.addEventListener("click", () => {
        const own = button.querySelector("img");
        Object.assign(large, { src: own.src, alt: own.alt });
        frame.showModal();
      });
    }
  });
})();
