/* Change the keys in the ESBN's memory, and ask it a hundred problems: <div data-live="esbn_keys">. */
(function () {
  "use strict";
  const { element, labelled, button, status, figure } = Live;
  const { argmax, softmax } = Arithmetic;
  const { ROW, ASKED, shown, strip, bar } = ESBN;
  const FIRST = 201, MANY = 100, ASKED_FROM = 1000; // numbers of problems; in the first, keys 4 and 5 decide
  const AS_WRITTEN = [0, 1, 2, 3, 4];
  // What entries 1 to 5 hold: the key that the network wrote at that step (from 0), or zeros (null).
  const PRESETS = { "row 1: zeros": [null, null, null, 3, 4], "row 2: key 1 for both": [0, 1, 2, 0, 0], "put all back": AS_WRITTEN };

  /** For `ESBN.run`: when a row is complete, each entry gets the key that it is to hold, as the network wrote it. */
  function editing(held) {
    const written = [];
    return (t, keys) => {
      if (t) written[t - 1] = keys[t - 1];
      if (t !== ROW && t !== ASKED) return keys;
      return keys.map((key, i) => (held[i] === null ? key.map(() => 0) : held[i] < t ? written[held[i]] : key));
    };
  }

  const same = (one, other) => one.every((v, i) => v === other[i]);

  /** What was changed, in words. */
  function named(held) {
    if (same(held, AS_WRITTEN)) return "keys as written";
    const known = Object.keys(PRESETS).find((name) => same(PRESETS[name], held));
    return known ?? held.flatMap((from, i) => (from === i ? [] : `entry ${i + 1}: ${from === null ? "zeros" : `key ${from + 1}`}`)).join(", ");
  }

  function start(box, parcel, weights) {
    const album = ESBN.album(parcel), lab = ESBN.laboratory(album, weights), right = new Map();
    const problem = element("div"), entries = element("div", { class: "live-entries" }), told = status(), tally = element("div");
    let n = FIRST, ids, board, held = AS_WRITTEN, busy = false;

    function pose() {
      ids = album.problem(++n);
      board = ESBN.board(album, ids);
      problem.replaceChildren(board.table);
      entries.replaceChildren(...AS_WRITTEN.map((i) => {
        const options = [...AS_WRITTEN, null].map((from) => element("option", { value: String(from) }, from === null ? "zeros" : `key ${from + 1}`));
        const list = element("select", { onchange: () => edit(held.map((from, j) => (j === i ? JSON.parse(list.value) : from))) }, options);
        return element("div", {}, shown(album.pictures[ids[i]]), element("span", {}), labelled(`entry ${i + 1}`, list));
      }));
      edit(held);
    }

    /** Memory holds these keys from now on. */
    function edit(keys) {
      held = keys;
      const changed = lab.esbn(ids, editing(held)), before = softmax(lab.esbn(ids).logits), after = softmax(changed.logits), answer = ESBN.solve(ids);
      const memory = changed.steps[ASKED].M_k, lines = [{ name: "as written", chances: before }];
      [...entries.children].forEach((each, i) => {
        each.querySelector("span").replaceChildren(strip(memory[i]));
        each.querySelector("select").value = String(held[i]);
        each.classList.toggle("live-changed", held[i] !== i);
      });
      board.tell(same(held, AS_WRITTEN) ? lines : [...lines, { name: "changed", chances: after }]);
      told.textContent = `${named(held).replace(/./, (first) => first.toUpperCase())}. The ESBN chooses ${argmax(after) + 1}. Correct: ${answer + 1}.`;
      drawTally();
    }

    /** Results so far, each with the keys that it belongs to. */
    function drawTally(asking) {
      const lines = [...right].map(([name, count]) => element("tr", { class: name === named(held) ? "live-found" : null },
        element("th", { scope: "row" }, name), element("td", { class: "live-chance" }, bar(count / MANY)), element("td", {}, `${count} of ${MANY}`)));
      const about = asking ? "Asking …" : right.size ? "Correct, of the same 100 problems with new pictures. Dotted: chance." : "";
      tally.replaceChildren(element("p", { role: "status" }, about), element("table", { class: "live-tally" }, element("tbody", {}, lines)));
    }

    async function examine() {
      if (busy) return;
      busy = true;
      const keys = held;
      let count = 0;
      drawTally(true);
      for (let i = 1; i <= MANY; i++) {
        if (i % 4 === 0) await new Promise((resolve) => setTimeout(resolve));
        const asked = album.problem(ASKED_FROM + i);
        count += argmax(lab.esbn(asked, editing(keys)).logits) === ESBN.solve(asked);
      }
      right.set(named(keys), count);
      busy = false;
      drawTally();
    }

    box.append(told, element("div", { class: "live-columns live-halves" }, element("div", {}, problem), element("div", {},
      element("p", { class: "live-note" }, "Memory after row 2. Choose which key each entry holds."), entries,
      element("p", { class: "live-examples" }, Object.entries(PRESETS).map(([name, keys]) => button(name, () => edit(keys)))))),
      element("div", { class: "live-controls" }, button(`Ask ${MANY} problems`, examine), button("Another problem", pose)), tally);
    pose();
  }

  window.ESBNKeys = { editing };
  figure("esbn_keys", start, ["esbn_pictures", "esbn"]);
})();
