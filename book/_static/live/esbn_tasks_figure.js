/* The four tasks, solved from pictures or from a table of which pictures are equal: <div data-live="esbn_tasks">. */
(function () {
  "use strict";
  const { element, tick, button, status, scroller, figure } = Live;
  const { uniform } = Arithmetic;
  const { ROW, ASKED, shown, option, byKeys, shuffle } = ESBN;
  const RULES = [[0, 0, 0], [0, 1, 0], [0, 1, 1]]; // AAA, ABA, ABB
  const FOUR = { "row 1": ROW, "row 2": ASKED - ROW, choices: 4 };
  const FIRST = 5; // before the number of the first problem, whose row 2 has an order of its own
  const below = (random, n) => Math.floor(n * random());

  // Each task draws problems of `pool` as mini_lib/esbn/tasks.py does, {ids, answer}, and says why choice n (from 1) is right.
  const TASKS = {
    same_different: {
      title: "same/different", groups: { pictures: 2 }, asks: "Do the two pictures show the same object?", words: ["same", "different"],
      draw(random, pool) {
        const [a, b] = shuffle(random, pool), answer = below(random, 2);
        return { ids: [a, answer ? b : a], answer };
      },
      why: (n) => (n === 1 ? "The two objects are equal." : "The two objects differ."),
    },
    rmts: {
      title: "relational match-to-sample", groups: { above: 2, "pair 1": 2, "pair 2": 2 },
      asks: "Equal or different? Choose the pair below that is like the one above.",
      draw(random, pool) {
        const [a, b, c, d, e] = shuffle(random, pool), answer = below(random, 2);
        const [source, match, other] = below(random, 2) ? [[a, a], [b, b], [c, d]] : [[a, b], [c, d], [e, e]];
        return { ids: [...source, ...(answer ? [...other, ...match] : [...match, ...other])], answer };
      },
      why: (n, [a, b]) => (a === b ? `The objects above are equal, and so are those of pair ${n}.` : `The objects above differ, and so do those of pair ${n}.`),
    },
    distribution_of_three: {
      title: "distribution-of-three", groups: FOUR, asks: "Row 2 shows the objects of row 1 in some order. Which one is missing?",
      draw(random, pool) {
        const ids = ESBN.draw(random, pool);
        return { ids, answer: ESBN.solve(ids) };
      },
      why: (n) => `The object of choice ${n} is in row 1, but not yet in row 2.`,
    },
    identity_rules: {
      title: "identity rules", groups: FOUR, asks: "Row 1 follows a rule. Which choice completes row 2 by the same rule?",
      draw(random, pool) {
        const four = shuffle(random, pool).slice(0, 4), [a, b, c, d] = shuffle(random, four), rule = RULES[below(random, 3)];
        const row = (...objects) => rule.map((i) => objects[i]), second = row(c, d);
        return { ids: [...row(a, b), ...second.slice(0, 2), ...four], answer: four.indexOf(second[2]) };
      },
      why(n, [a, b, c]) {
        if (a === b) return `Row 1 shows one object three times. With choice ${n}, so does row 2.`;
        return `In row 1, the last object repeats the ${c === a ? "first" : "second"}. In row 2, choice ${n} does so.`;
      },
    },
  };

  /** The places from one to before another, by group: [name, [[place, its number in the group], ...]]. */
  function places(groups, from, to) {
    let t = 0;
    const all = Object.entries(groups).map(([name, count]) => [name, Array.from({ length: count }, (_, i) => [t++, i + 1])]);
    return all.map(([name, each]) => [name, each.filter(([at]) => at >= from && at < to)]).filter(([, each]) => each.length);
  }

  /** Which two pictures are equal: a row for each but the first, a column for each but the last. */
  function table(ids, groups, found) {
    const columns = places(groups, 0, ids.length - 1), th = (text, more) => element("th", more, text);
    const cell = (t, s) => (s >= t ? element("td", { class: "live-none" }) : element("td", { class: ids[s] === ids[t] ? "live-equal" : null }, ids[s] === ids[t] ? "=" : ""));
    const rows = places(groups, 1, ids.length).flatMap(([name, each]) => each.map(([t, number], i) => element("tr", { class: found.includes(t) ? "live-found" : null },
      i ? null : th(name, { scope: "rowgroup", rowspan: each.length, class: "live-group" }), th(String(number), { scope: "row" }),
      columns.flatMap(([, others]) => others.map(([s], j) => { const made = cell(t, s); if (!j) made.classList.add("live-edge"); return made; })))));
    return element("table", { class: "live-pairs" }, element("caption", {}, "“=”: these two pictures are equal"),
      element("thead", {}, element("tr", {}, element("td", { colspan: 2 }), columns.map(([name, each]) => th(name, { scope: "colgroup", colspan: each.length }))),
        element("tr", {}, element("td", { colspan: 2 }), columns.flatMap(([, each]) => each.map(([, number]) => th(String(number), { scope: "col" }))))),
      element("tbody", {}, rows));
  }

  function start(box, parcel) {
    const album = ESBN.album(parcel), pool = [...album.pictures.keys()], numbers = {}, score = { pictures: [], table: [] };
    const board = element("div"), choices = element("div", { role: "group", tabindex: -1 }), grid = scroller("Which pictures are equal"), told = status();
    const tally = element("p", { class: "live-note" });
    let covering = false, name = "distribution_of_three", task, ids, answer, chosen;

    /** The next problem of a task. */
    function pose(next, focus = true) {
      task = TASKS[(name = next)];
      numbers[name] = (numbers[name] ?? FIRST + 1000 * tasks.findIndex((each) => each.dataset.task === name)) + 1;
      ({ ids, answer } = task.draw(uniform(numbers[name]), pool));
      chosen = null;
      draw();
      if (focus) choices.focus({ preventScroll: true });
    }

    function choose(i) {
      if (chosen !== null || i >= choices.children.length) return;
      chosen = i;
      score[covering ? "table" : "pictures"].push(i === answer);
      draw();
      further.focus({ preventScroll: true });
    }

    const covered = () => covering && chosen === null; // an answer uncovers the pictures
    const tile = (t) => (covered() ? element("span", { class: "live-blank" }) : shown(album.pictures[ids[t]], album.pictures[ids[t]].name));
    const spoken = (places) => (covered() ? "hidden" : places.map((t) => album.pictures[ids[t]].name).join(" and "));

    function draw() {
      const open = chosen !== null, { words } = task, pairs = name === "rmts", four = !words && !pairs, asked = words || pairs ? 2 : ASKED;
      const offered = words ? [[], []] : pairs ? [[2, 3], [4, 5]] : [5, 6, 7, 8].map((t) => [t]);
      for (const each of tasks) each.setAttribute("aria-pressed", String(each.dataset.task === name));
      const gap = four && element("span", { class: `game-gap${open ? " game-right" : ""}` }, open ? tile(ASKED + answer) : "?");
      board.className = `game-rows${four ? "" : " live-two"}${covered() ? " live-covered" : ""}`;
      board.replaceChildren(...ids.slice(0, asked).map((_, t) => tile(t)), ...(gap ? [gap] : []));
      choices.className = `game-choices${four ? "" : " live-two"}`;
      choices.replaceChildren(...offered.map((at, i) => option(i, words ? words[i] : spoken(at), words ? words[i] : at.map(tile), () => choose(i),
        { right: open && i === answer, chosen: chosen === i, closed: open }, chosen === i ? element("span", { class: "game-by game-you" }, `You ${i === answer ? "✓" : "✗"}`) : null)));
      choices.setAttribute("aria-label", `Choices. Keys 1 to ${offered.length} choose.`);
      grid.hidden = !covering;
      grid.replaceChildren(table(ids, task.groups, open ? offered[answer] : []));
      told.textContent = open ? `${chosen === answer ? "Right" : "Wrong"}. ${task.why(answer + 1, ids)}` : task.asks;
      tally.textContent = Object.entries(score).flatMap(([from, all]) => (all.length ? [`From ${from === "table" ? "the table" : from}: ${all.filter(Boolean).length} of ${all.length} right.`] : [])).join(" ")
        || "Click a choice, or press its number.";
    }

    const tasks = Object.entries(TASKS).map(([each, { title }]) => button(title, () => pose(each), { "data-task": each }));
    const further = button("Next problem", () => pose(name), { class: "game-next" });
    byKeys(box, choose, () => { if (chosen !== null) pose(name); });
    box.append(element("div", { class: "live-examples" }, tasks), told, element("div", { class: "live-solve" }, element("div", {}, board, choices), grid),
      element("div", { class: "live-controls" }, further, tick("see what is equal", (on) => { covering = on; draw(); }), tally));
    pose(name, false);
  }

  window.ESBNTasks = { TASKS };
  figure("esbn_tasks", start, ["esbn_pictures"]);
})();
