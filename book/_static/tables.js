/* The map of a replication page: a square that is selected shows its runs in place, under itself. */
(function () {
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
      const runs = square.nextElementSibling;
      if (runs) {
        const small = document.createElement("small");
        small.textContent = "Diamond and line: reported, with its 95 % interval. Dots: our runs. Dotted: chance.";
        card.append(runs.content.cloneNode(true), small);
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
    const words = document.createElement("p");
    frame.className = "enlarged";
    shut.type = "button";
    shut.textContent = "Close";
    frame.append(large, words, shut);
    document.body.append(frame);
    frame.addEventListener("click", () => frame.close());
    for (const button of pictures) {
      button.addEventListener("click", () => {
        const own = button.querySelector("img");
        Object.assign(large, { src: own.src, alt: own.alt });
        const told = [...button.closest(".gallery-entry").querySelectorAll("p:not(:has(button))")];
        words.textContent = told.map((each) => each.textContent).join(" ");
        frame.showModal();
      });
    }
  });
})();
