/* What the figures of the ESBN share: its pictures and problems, its networks, keys and problems on the page. */
(function () {
  "use strict";
  const { element } = Live;
  const { rows, uniform } = Arithmetic;
  const { SIDE, ROW, ASKED } = ESBN;
  const STEPS = 9; // pictures of a problem

  /** All pictures as {image, name}, and problem n of a sequence that never changes, of pictures that were not in training. */
  function album({ tensors, facts: { names, seen } }) {
    const pictures = rows({ shape: [SIDE * SIDE], data: tensors.images.data })
      .map((bytes, id) => ({ image: bytes.map((v) => v / 255), name: names[id], embedded: {} }));
    const unseen = [...names.keys()].filter((id) => !seen.includes(id));
    return { pictures, problem: (n) => ESBN.draw(uniform(n), unseen) };
  }

  /** The networks of these parcels, asked for ids of pictures: `esbn(ids, edit)` and `lstm(ids)`. */
  function laboratory({ pictures }, ...parcels) {
    const embed = (net, name, ids) =>
      ESBN.normalise(net, ids.map((id) => (pictures[id].embedded[name] ??= ESBN.encode(net, pictures[id].image))));
    const [esbn, lstm] = ["esbn", "lstm"].map((name, i) => parcels[i] && Live.network(parcels[i], name));
    return {
      esbn: (ids, edit) => ESBN.run(esbn, embed(esbn, "esbn", ids), edit),
      lstm: (ids) => ESBN.baseline(lstm, embed(lstm, "lstm", ids)),
    };
  }

  const percent = (p) => `${Math.round(100 * p)} %`;
  const bar = (p) => element("span", { class: "live-bar", style: `--share: ${Math.round(100 * p)}%` });

  /** A picture on the page, drawn in ink. Without a label it says nothing. */
  const shown = ({ image }, label) => Live.picture(label, image.map((v) => 1 - v));

  /** A step in words. */
  function place(t) {
    if (t < ASKED) return t < ROW ? `row 1, place ${t + 1}` : `row 2, place ${t - ROW + 1}`;
    return t < STEPS ? `choice ${t - ASKED + 1}` : "the answer";
  }

  /** A key as 64 shades, each the mean of four numbers; the root makes small ones visible. */
  function strip(key) {
    const means = Array.from({ length: 64 }, (_, i) => key.subarray(4 * i, 4 * i + 4).reduce((sum, v) => sum + v / 4, 0));
    const shades = means.map((v, i) => element("rect", { x: i, width: 1.05, height: 1, "fill-opacity": Math.min(1, Math.sqrt(Math.max(0, v)) / 3).toFixed(2) }));
    return element("svg", { viewBox: "0 0 64 1", preserveAspectRatio: "none", class: "live-key", "aria-hidden": "true" }, shades);
  }

  /** A problem as a table: {table, cells, tell}. With `press(i)` the choices are buttons; `tell(lines)` puts lines of four probabilities
      below the choices, each {name, chances}, and marks the right one. */
  function board({ pictures }, ids, press) {
    const answer = ESBN.solve(ids), picture = (t) => shown(pictures[ids[t]], press && t >= ASKED ? null : pictures[ids[t]].name);
    const cells = ids.map((id, t) => element("td", { title: pictures[id].name },
      !press || t < ASKED ? picture(t) : Live.button(picture(t), () => press(t - ASKED), { "aria-label": `choice ${t - ASKED + 1}: ${pictures[id].name}` })));
    const line = (name, ...more) => element("tr", {}, element("th", { scope: "row" }, name), more.flat()), body = element("tbody");
    const fixed = [line("row 1", cells.slice(0, ROW)), line("row 2", cells.slice(ROW, ASKED), element("td", { class: "live-gap" }, "?")), line("choices", cells.slice(ASKED))];
    body.append(...fixed);
    function tell(lines) {
      cells[ASKED + answer].classList.toggle("live-right", lines.length > 0);
      body.replaceChildren(...fixed, ...lines.map(({ name, chances }) => line(name, Array.from(chances, (p) => element("td", {}, bar(p), percent(p))))));
    }
    return { table: element("table", { class: "live-problem" }, body), cells, tell };
  }

  /** Choice i (from 0) of a problem as a button with `what` in it; its number and `more` are below. */
  const option = (i, name, what, press, { right, chosen, closed }, ...more) => element("div", { class: "game-choice" },
    Live.button(what, press, { class: right ? "game-right" : null, "aria-pressed": String(chosen), "aria-disabled": String(closed), "aria-label": `${i + 1}: ${name}` }),
    element("kbd", {}, String(i + 1)), more.flat());

  /** Keys 1 to 4 choose, and Enter goes on, where the figure is in view and the focus nowhere else. */
  function byKeys(box, choose, next) {
    document.addEventListener("keydown", (event) => {
      const idle = document.activeElement === document.body, { top, bottom } = box.getBoundingClientRect();
      if (!(idle || box.contains(document.activeElement)) || event.ctrlKey || event.metaKey || event.altKey || bottom < 0 || top > innerHeight) return;
      if ("1234".includes(event.key)) choose(Number(event.key) - 1);
      else if (event.key === "Enter" && idle) next();
    });
  }

  Object.assign(ESBN, { STEPS, album, laboratory, percent, bar, shown, place, strip, board, option, byKeys });
})();
