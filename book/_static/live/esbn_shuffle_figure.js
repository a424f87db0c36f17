/* A training problem whose choices change places, and what two networks choose then: <div data-live="esbn_shuffle">. */
(function () {
  "use strict";
  const { element, button, status, draggable, figure } = Live;
  const { argmax } = Arithmetic;
  const { ASKED, shown } = ESBN;
  const NETWORKS = { esbn: "ESBN", lstm: "LSTM" };
  const TRAINED = [0, 1, 2, 3], FIRST = 21, FAR = 8; // FAR: pixels from which a press is a drag

  /** All orders of a list. */
  const orders = (list) => (list.length ? list.flatMap((one) => orders(list.filter((other) => other !== one)).map((rest) => [one, ...rest])) : [[]]);

  function start(box, parcel, ...weights) {
    const album = ESBN.album(parcel), lab = ESBN.laboratory(album, ...weights), { training } = weights[0].facts;
    const told = status(), rows = element("div", { class: "game-rows" }), tally = element("div", { class: "game-score" });
    const choices = element("div", { class: "game-choices", role: "group", "aria-label": "Choices. Arrow keys move one." });
    let n = FIRST, problem, order, held, tried; // `order`: which choice of training each place holds

    const ids = (places) => [...problem.slice(0, ASKED), ...places.map((i) => problem[ASKED + i])];
    const answer = (places) => places.indexOf(ESBN.solve(problem));

    /** What the networks choose when the choices are in this order. */
    function ask(places) {
      const given = ids(places);
      tried[places.join("")] ??= { esbn: argmax(lab.esbn(given).logits), lstm: argmax(lab.lstm(given)), answer: answer(places) };
      return tried[places.join("")];
    }

    function pose() {
      problem = training[n++ % training.length];
      tried = {};
      const names = problem.map((id) => album.pictures[id].name);
      rows.replaceChildren(...problem.slice(0, ASKED).map((id, t) => shown(album.pictures[id], names[t])), element("span", { class: "game-gap" }, "?"));
      arrange(TRAINED);
    }

    function arrange(places, focused) {
      order = places;
      draw(ask(places));
      choices.children[focused]?.querySelector("button").focus({ preventScroll: true });
    }

    /** Let two choices change places. */
    function swap(i, j, focused = j) {
      const places = [...order];
      [places[i], places[j]] = [order[j], order[i]];
      arrange(places, focused);
    }

    /** The first press takes a choice, the second says which one it changes places with. */
    function press(i) {
      if (held !== null && held !== i) return swap(held, i);
      held = held === i ? null : i;
      [...choices.children].forEach((each, j) => each.querySelector("button").setAttribute("aria-pressed", String(j === held)));
    }

    /** A choice can be dragged onto another, moved by arrow keys, or pressed. */
    function handle(i) {
      let moved = false; // whether a pointer dragged it
      const made = button(shown(album.pictures[ids(order)[ASKED + i]]), () => { if (!moved) press(i); moved = false; }, {
        class: i === answer(order) ? "game-right" : null, "aria-pressed": "false",
        "aria-label": `choice ${i + 1}: ${album.pictures[ids(order)[ASKED + i]].name}`,
      });
      made.addEventListener("keydown", ({ key }) => {
        const j = i + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? NaN);
        if (j in TRAINED) swap(i, j);
      });
      draggable(made, ({ clientX: from }) => {
        moved = false;
        return ({ clientX }) => {
          moved ||= Math.abs(clientX - from) >= FAR;
          if (moved) made.style.translate = `${clientX - from}px`;
        };
      }, ({ type, clientX }) => {
        const centers = [...choices.children].map((each) => { const { left, width } = each.getBoundingClientRect(); return Math.abs(clientX - left - width / 2); });
        const j = centers.indexOf(Math.min(...centers));
        made.style.translate = "";
        moved &&= type === "pointerup";
        if (moved && j !== i) swap(i, j);
      });
      return made;
    }

    function draw(chosen) {
      held = null;
      choices.replaceChildren(...TRAINED.map((i) => element("div", { class: "game-choice" }, handle(i), element("small", {}, String(i + 1)),
        Object.keys(NETWORKS).filter((name) => chosen[name] === i).map((name) =>
          element("span", { class: `game-by game-${name}` }, `${NETWORKS[name]} ${i === chosen.answer ? "✓" : "✗"}`)))));
      told.textContent = tell(chosen);
      const all = Object.values(tried);
      tally.replaceChildren(...Object.entries(NETWORKS).map(([name, title]) => element("div", { class: `game-${name}` }, `${title} `,
        element("b", {}, String(all.filter((each) => each[name] === each.answer).length)), ` of ${all.length}`, all.length < 2 ? null : element("span", { "aria-hidden": "true" }, marks(all, name)))));
    }

    /** A mark for each order that was tried: right, the place that was right in training, or another place. */
    function marks(all, name) {
      const old = ESBN.solve(problem), mark = (each) => (each[name] === each.answer ? "●" : each[name] === old ? "◐" : "○");
      return all.map(mark).sort((a, b) => "●◐○".indexOf(a) - "●◐○".indexOf(b)).join("\u200B");
    }

    /** What the networks chose, in sentences. */
    function tell(chosen) {
      const trained = order.join() === TRAINED.join(), old = ESBN.solve(problem);
      const [esbn, lstm] = Object.keys(NETWORKS).map((name) => chosen[name] === chosen.answer);
      if (esbn && lstm) return trained ? "The order of training. Both networks are right." : "Another order, and both networks are right.";
      const where = !lstm && chosen.lstm === old ? ` In training, place ${old + 1} was right.` : "";
      return `The LSTM chooses ${chosen.lstm + 1}, which is ${lstm ? "right" : "wrong"}.${where} The ESBN is ${esbn ? "right" : "wrong"}.`;
    }

    /** An order that was not tried yet, as long as there is one. */
    function mixed() {
      const all = orders(TRAINED), left = all.filter((places) => !(places.join("") in tried)), from = left.length ? left : all;
      return from[Math.floor(Math.random() * from.length)];
    }

    const tools = [["Shuffle", () => arrange(mixed())], ["Order of training", () => arrange(TRAINED)],
      ["Try all 24 orders", () => { orders(TRAINED).forEach(ask); draw(ask(order)); }], ["Another problem", pose]];
    box.append(told, element("div", {}, rows, choices),
      element("div", { class: "game-side" }, element("div", {}, element("p", { class: "live-note" }, "Of the orders tried: right (●), wrong at the place that was right in training (◐), wrong elsewhere (○)."), tally), element("div", { class: "live-tools" }, tools.map(([text, press]) => button(text, press)))),
      element("p", { class: "live-note" }, "Drag a choice onto another: they change places. Or press one and then another, or use the arrow keys. Framed: the right choice."));
    pose();
  }

  figure("esbn_shuffle", start, ["esbn_pictures", "esbn", "esbn_lstm"]);
})();
