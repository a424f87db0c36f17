/* Watch the memory of the ESBN fill, step by step: <div data-live="esbn_memory">. Steps count from 0 here, from 1 in what is shown. */
(function () {
  "use strict";
  const { element, slider, set, button, status, scroller, figure } = Live;
  const { argmax, range, softmax } = Arithmetic;
  const { STEPS, percent, bar, shown, place, strip } = ESBN;
  const FIRST = 100; // number of the first problem: the chapter's; the others are drawn
  const QUESTION = "Which choice completes row 2? Choose, or step through the network.";

  function start(box, parcel, weights) {
    const album = ESBN.album(parcel), lab = ESBN.laboratory(album, weights);
    const problem = element("div"), memory = scroller("Memory at this step"), account = element("ol", { class: "live-account" }), told = status();
    let n = FIRST - 1, ids, trace, board, chosen, open, step;

    function pose() {
      ids = ++n === FIRST ? parcel.facts.followed : album.problem(n);
      trace = lab.esbn(ids);
      chosen = null;
      open = false;
      board = ESBN.board(album, ids, choose);
      problem.replaceChildren(board.table);
      reserve();
      set(steps, 1);
    }

    /** Take as much room now as the longest step needs, so that nothing below moves from step to step. */
    function reserve() {
      const before = step, parts = [told, problem, account, memory], most = parts.map(() => 0);
      parts.forEach((part) => { part.style.minHeight = "0"; });
      for (step = 0; step <= STEPS; step++) {
        memory.replaceChildren(table());
        account.replaceChildren(...items());
        told.textContent = step % 2 ? QUESTION : "You chose 1. The ESBN chooses 1. Correct: 1.";
        board.tell([{ name: "ESBN", chances: softmax(trace.logits) }]);
        parts.forEach((part, i) => { most[i] = Math.max(most[i], part.offsetHeight); });
      }
      parts.forEach((part, i) => { part.style.minHeight = `${most[i]}px`; });
      step = before;
    }

    const items = () => says().map((parts) => element("li", {}, parts));

    function choose(i) {
      if (!open) chosen = i;
      open = true;
      answer();
    }

    function look(t) {
      step = t;
      open ||= t === STEPS;
      board.cells.forEach((cell, i) => cell.classList.toggle("live-now", i === t));
      memory.replaceChildren(table());
      account.replaceChildren(...items());
      further.setAttribute("aria-disabled", String(t === STEPS));
      answer();
    }

    /** The answer of the network, once it may be seen. */
    function answer() {
      const chances = softmax(trace.logits), right = ESBN.solve(ids), its = argmax(chances);
      board.tell(open ? [{ name: "ESBN", chances }] : []);
      if (!open) told.textContent = QUESTION;
      else told.textContent = `${chosen === null ? "" : `You chose ${chosen + 1}. `}The ESBN chooses ${its + 1}. Correct: ${right + 1}.`;
    }

    /** Memory as the step finds it: a row for each entry, and the room for those to come. */
    function table() {
      const { w, c, M_k } = trace.steps[step], most = Math.max(...w), compared = step < STEPS || null;
      const lines = M_k.map((key, i) => element("tr", { class: compared && w[i] > 0.5 * most ? "live-found" : null },
        element("th", { scope: "row" }, shown(album.pictures[ids[i]], album.pictures[ids[i]].name)), element("td", {}, numbered(key, i)),
        element("td", { style: "padding-right: 1rem" }, compared && [bar(w[i]), percent(w[i])]), element("td", {}, compared && percent(c[i]))));
      const room = M_k.length === STEPS ? null : range(M_k.length, STEPS).map((i) => element("tr", { style: "height: 1.85rem; opacity: 0.4" },
        element("th", {}), element("td", {}, numbered(new Float32Array(M_k[0]?.length ?? 256), i)), element("td", {}), element("td", {})));
      const head = ["picture", "key", "weight", "confidence"].map((name) => element("th", { scope: "col" }, name));
      return element("table", { class: "live-memory" }, element("caption", {}, lines.length ? "Memory: the pictures so far, each with its key" : "Memory is empty."),
        element("thead", {}, element("tr", {}, head)), element("tbody", {}, lines), room && element("tfoot", { "aria-hidden": "true" }, room));
    }

    /** A key with its number, by which one knows it again. */
    function numbered(key, i) {
      const drawn = strip(key);
      drawn.style.width = "3.4rem";
      return [String(i + 1), drawn];
    }

    /** The entries that the weights pick: [[share, number], ...]. */
    const picked = (w) => [...w].flatMap((share, i) => (share > 0.02 ? [[share, i + 1]] : []));

    /** As in a sentence: "picture 1", "pictures 2 and 5". */
    const pictures = (all) => (all.length > 1 ? `pictures ${all.slice(0, -1).join(", ")} and ${all[all.length - 1]}` : `picture ${all[0]}`);

    /** What happens at the step, in the order in which it is to be read. */
    function says() {
      const { k_w, k_r, g, w, c } = trace.steps[step], term = (name) => element("b", {}, `${name}: `);
      if (step === STEPS) return [["No picture is left. From all that it received, the controller answers."]];
      const writes = [term("key"), "the controller writes key ", ...numbered(k_w, step)];
      const now = [term("picture"), shown(album.pictures[ids[step]], album.pictures[ids[step]].name)];
      if (!step) return [writes, [...now, " is the first. It is stored next to the key."]];
      const found = picked(w), sure = w.reduce((sum, share, i) => sum + share * c[i], 0), gist = sure > 0.9 ? ", a match" : sure < 0.1 ? ", no match" : "";
      const keys = found.length === 1 ? `key ${found[0][1]}` : found.map(([share, n]) => `${percent(share)} of key ${n}`).join(" and ");
      return [writes, [...now, ` is most like ${pictures(found.map(([, n]) => n))} in memory.`],
        [term("confidence"), `${percent(sure)}${gist}.`],
        [term("received"), `${keys}, and this confidence. `, g < 0.95 ? `The controller lets ${percent(g)} of both in: ` : "", strip(k_r.subarray(0, k_w.length))]];
    }

    const named = (t) => `${t} of ${STEPS + 1}: ${place(t - 1)}`;
    const steps = slider("Step", { min: 1, max: STEPS + 1, value: 1, shown: named }, (t) => look(t - 1));
    steps.querySelector("output").style.minWidth = "11.5em"; // of the longest name, so that the line never breaks anew
    const further = button("Next step", () => set(steps, Math.min(step + 2, STEPS + 1)));
    box.append(told, element("div", { class: "live-controls" }, further, steps, button("Another problem", pose)),
      element("div", { class: "live-columns live-halves" }, element("div", {}, problem, account), memory));
    pose();
    let width = box.offsetWidth;
    new ResizeObserver(() => {
      if (box.offsetWidth === width) return;
      width = box.offsetWidth;
      reserve();
      look(step);
    }).observe(box);
  }

  figure("esbn_memory", start, ["esbn_pictures", "esbn"]);
})();
