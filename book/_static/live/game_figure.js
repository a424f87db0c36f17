/* Distribution of three: you against the ESBN against an LSTM: <div data-live="game">. */
(function () {
  "use strict";
  const { element, button, status, figure, load } = Live;
  const { argmax } = Arithmetic;
  const { ASKED, shown, option, byKeys } = ESBN;
  const PLAYERS = { you: "You", esbn: "ESBN", lstm: "LSTM" };
  const ROUND = 10, ENOUGH = 7, CHANCE = "2.5", BREAK = "\u200B"; // where a line may end
  const HINT = "Choose a picture, or press its number. Then you see what the networks chose.";
  const ABOUT = "The LSTM is a standard recurrent network, and the ESBN is the first network of this book. Both run in this page. Both were trained on five other pictures.";

  /** Names as in a sentence: "you, the ESBN and the LSTM". */
  const listed = (names) => [names.slice(0, -1).join(", "), ...names.slice(-1)].filter(Boolean).join(" and ");

  /** What happened, in a sentence. */
  function tell(chosen, answer) {
    const right = ["you", "esbn", "lstm"].filter((name) => chosen[name] === answer).map((name) => (name === "you" ? "you" : `the ${PLAYERS[name]}`));
    const who = right.length ? listed(right) : "nobody";
    return `Choice ${answer + 1} completes the row. ${who[0].toUpperCase()}${who.slice(1)} found it.`;
  }

  /** What ten problems have shown, and where to read on. */
  function ending(score) {
    const [you, esbn, lstm] = Object.keys(PLAYERS).map((name) => score[name].filter(Boolean).length);
    return [
      element("strong", {}, `In ten problems you found ${you}, the ESBN ${esbn} and the LSTM ${lstm}. Guessing finds ${CHANCE} on average.`),
      you < ENOUGH ? " That is no shame: both networks were trained on such puzzles, and you were not." : "",
      " One rule solves them all: choose the picture of the first row that the second row lacks. It only asks which pictures are the same, and says nothing about any of them. That is why it works for new ones. How can a network come to such a rule? ",
      element("a", { href: "../notebooks/start_here.html" }, "The tour"), " tells it in ten minutes, and ",
      element("a", { href: "parts/esbn.html" }, "the first part"), " in full.",
    ];
  }

  /** Fill the box with the first problem; the networks load meanwhile. */
  function start(box, parcel) {
    const album = ESBN.album(parcel), score = {};
    const board = element("div", { class: "game-rows" }), choices = element("div", { class: "game-choices", role: "group", tabindex: -1 });
    const about = element("p", { class: "live-note" });
    const told = status(), tiles = element("div", { class: "game-score" }), next = button("Next problem", play, { class: "game-next" });
    let n = 0, ids, answer, chosen;

    function play() {
      if (n % ROUND === 0) Object.keys(PLAYERS).forEach((name) => { score[name] = []; });
      ids = album.problem(++n);
      answer = ESBN.solve(ids);
      chosen = null;
      draw();
      if (n > 1) choices.focus({ preventScroll: true });
    }

    /** Your choice; the networks answer as soon as they are there. */
    async function choose(i) {
      if (chosen) return;
      chosen = { you: i };
      draw();
      const { esbn, lstm } = await ready;
      Object.assign(chosen, { esbn: argmax(esbn(ids).logits), lstm: argmax(lstm(ids)) });
      for (const name in PLAYERS) score[name].push(chosen[name] === answer);
      draw();
      next.focus({ preventScroll: true });
    }

    function draw() {
      const open = chosen && "lstm" in chosen, names = ids.map((id) => album.pictures[id].name), mark = (i) => (i === answer ? " ✓" : " ✗");
      const cells = ids.slice(0, ASKED).map((id, t) => shown(album.pictures[id], names[t]));
      const found = open ? shown(album.pictures[ids[ASKED + answer]], names[ASKED + answer]) : "?";
      board.replaceChildren(...cells, element("span", { class: `game-gap${open ? " game-right" : ""}` }, found));
      const focused = [...choices.children].indexOf(document.activeElement?.closest(".game-choice"));
      choices.replaceChildren(...ids.slice(ASKED).map((id, i) => {
        const by = Object.keys(PLAYERS).filter((name) => chosen && chosen[name] === i);
        return option(i, names[ASKED + i], shown(album.pictures[id]), () => choose(i), { right: open && i === answer, chosen: chosen?.you === i, closed: Boolean(chosen) },
          by.map((name) => element("span", { class: `game-by game-${name}` }, PLAYERS[name] + (open ? mark(i) : ""))));
      }));
      if (!chosen) choices.append(element("p", { class: "live-note" }, HINT));
      choices.children[focused]?.querySelector("button").focus({ preventScroll: true });
      choices.setAttribute("aria-label", `Choices for problem ${n}. Keys 1 to 4 choose.`);
      told.textContent = open ? tell(chosen, answer) : chosen ? "The networks are still loading …" : "Which picture completes the second row?";
      tiles.replaceChildren(...Object.entries(PLAYERS).map(([name, title]) => {
        const wins = score[name].filter(Boolean).length, last = score[name].map((won, i) => (won ? "●" : "○") + (i === 4 ? BREAK : "")).join("");
        return element("div", { class: `game-${name}` }, `${title} `, element("div", {}, element("b", {}, String(wins)), ` of ${score[name].length}`),
          element("span", { "aria-hidden": "true" }, last));
      }));
      const over = open && n % ROUND === 0;
      about.setAttribute("aria-live", over ? "polite" : "off");
      about.replaceChildren(...(over ? ending(score) : [ABOUT]));
      next.textContent = over ? "Play ten more" : "Next problem";
      next.style.visibility = open ? "visible" : "hidden";
    }

    byKeys(box, choose, () => { if (next.style.visibility === "visible") play(); });
    box.append(told, element("div", {}, board, choices), element("div", { class: "game-side" }, tiles, next), about);
    play();
    const ready = Promise.all([load("esbn"), load("esbn_lstm")]).then((parcels) => ESBN.laboratory(album, ...parcels));
    return ready;
  }

  figure("game", start, ["esbn_pictures"]);
})();
