/* The map of a replication page: a square that is selected shows its runs, in a card at the edge of the window. */
(function () {
  window.addEventListener("DOMContentLoaded", () => {
    const card = document.createElement("div"), words = document.createElement("p");
    card.className = "entry-card";
    card.setAttribute("role", "status");
    const GAP = 8; // pixels between a square and the card
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
        small.textContent = "±: standard error. Diamond and line: reported, with its 95 % interval. Dots: our runs. Dotted: chance.";
        card.append(runs.content.cloneNode(true), small);
      }
      square.closest(".glance-tables").append(card);
      const hidden = square.getBoundingClientRect().bottom + GAP - card.getBoundingClientRect().top;
      if (hidden > 0) window.scrollBy(0, hidden);
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
  });

  // A picture of the gallery opens over the page, as large as the window allows; arrow keys go on to the next.
  window.addEventListener("DOMContentLoaded", () => {
    const pictures = [...document.querySelectorAll(".gallery-entry button")];
    if (!pictures.length) return;
    const frame = document.createElement("dialog");
    frame.className = "enlarged";
    frame.setAttribute("aria-label", "A picture, enlarged");
    frame.innerHTML = `<img><p></p><div><button type="button">← Previous</button><button type="button">Next →</button>
      <a>See it in its chapter</a><a download>Save the picture</a><button type="button">Close</button></div>`;
    document.body.append(frame);
    const [large, words] = [frame.querySelector("img"), frame.querySelector("p")];
    const [back, on, shut] = frame.querySelectorAll("button"), [chapter, save] = frame.querySelectorAll("a");
    let at = 0;

    function show(place) {
      at = (place + pictures.length) % pictures.length;
      const card = pictures[at].closest(".gallery-entry"), own = card.querySelector("img");
      Object.assign(large, { src: own.src, alt: own.alt });
      words.textContent = [...card.querySelectorAll("p:not(:has(button))")].map((each) => each.textContent).join(" ");
      chapter.href = card.querySelector("a").href;
      save.href = own.src;
    }

    pictures.forEach((button, place) => button.addEventListener("click", () => {
      show(place);
      frame.showModal();
    }));
    back.addEventListener("click", () => show(at - 1));
    on.addEventListener("click", () => show(at + 1));
    shut.addEventListener("click", () => frame.close());
    frame.addEventListener("click", (event) => event.target === frame && frame.close());
    frame.addEventListener("close", () => pictures[at].focus());
    frame.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step) show(at + step);
    });
  });
})();
