/* The keys of a problem in the plane of their two principal components, to be moved: <div data-live="esbn_plane">. */
(function () {
  "use strict";
  const { element, choice, button, status, network, draggable, under, figure } = Live;
  const { add, argmax, range, rows, softmax } = Arithmetic;
  const { ROW, ASKED, STEPS, place } = ESBN;
  const FIRST = 300; // number of the problem before the first
  const WIDTH = 340, HEIGHT = 260, MARGIN = 16, APART = 22; // APART: between numbers, and from them to keys
  const GROUPS = { "the rows": range(0, ASKED), "row 1": range(0, ROW) };
  const ROLES = [
    { name: "first", title: "row 1", shape: (r) => `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z` },
    { name: "second", title: "row 2", shape: (r) => `m${-0.9 * r},${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z` },
  ];
  const role = (t) => ROLES[t < ROW ? 0 : 1];

  /** For `ESBN.run`: each key is moved when it is written. */
  const editing = (moves) => (t, keys) => keys.map((key, i) => (i === t - 1 && moves[i] ? add(key, moves[i]) : key));

  function start(box, parcel, weights) {
    const album = ESBN.album(parcel), lab = ESBN.laboratory(album, weights), { centre, axes: both, cloud: points } = network(weights, "plane");
    const axes = rows(both), plane = { centre: centre.data, axes }, all = rows(points), { training } = weights.facts;
    const cloud = training.map((_, p) => all.slice(p * STEPS, (p + 1) * STEPS));
    const told = status(), problem = element("div"), back = element("g");
    const own = range(0, ASKED).map((t) => element("g", { role: "button", tabindex: 0, class: "live-point" },
      element("line", { stroke: "currentColor" }), element("circle", { r: 6.5, fill: "none", stroke: "currentColor", "stroke-width": 1.6 }), element("path"), element("text", { "text-anchor": "middle", dy: "0.35em" }, String(t + 1))));
    const label = "Keys in the plane of their two principal components. Numbered points are the keys of this problem: arrow keys move them.";
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", class: "live-plane", "aria-label": label },
      element("rect", { x: 0.5, y: 0.5, width: WIDTH - 1, height: HEIGHT - 1, class: "live-frame" }), back,
      element("text", { x: WIDTH - 6, y: HEIGHT - 6, "text-anchor": "end" }, "component 1"), element("text", { x: 6, y: 14 }, "component 2"), own);
    let n = FIRST, ids, trace, board, limits, moves = {}, steps = GROUPS["the rows"];

    function pose() {
      ids = album.problem(++n);
      board = ESBN.board(album, ids);
      board.cells.forEach((cell, t) => cell.append(element("small", {}, String(t + 1))));
      problem.replaceChildren(board.table);
      moves = {};
      fit();
      ask();
    }

    /** Ask the network again, with the keys where they are now. */
    function ask() {
      trace = lab.esbn(ids, editing(moves));
      const chances = softmax(trace.logits), now = argmax(chances), before = argmax(lab.esbn(ids).logits), moved = Object.keys(moves).map((t) => Number(t) + 1);
      const named = `${moved.length > 1 ? "keys" : "key"} ${[moved.slice(0, -1).join(", "), ...moved.slice(-1)].filter(Boolean).join(" and ")}`;
      board.tell([{ name: "ESBN", chances }]);
      told.textContent = `${moved.length ? `Moved: ${named}. ` : ""}The ESBN chooses ${now + 1}${now === before ? "" : `, and ${before + 1} with its own keys`}. Correct: ${ESBN.solve(ids) + 1}.`;
      place_points();
    }

    /** The key of a step as a point, with what the reader moved it by. */
    const point = (t) => ESBN.project(plane, moves[t] ? add(trace.steps[t].k_w, moves[t]) : trace.steps[t].k_w);
    const scale = (v, i) => (v - limits[i][0]) / (limits[i][1] - limits[i][0]);
    const inside = (v, size) => Math.min(size - MARGIN, Math.max(MARGIN, v));
    const where = ([x, y]) => [MARGIN + scale(x, 0) * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - scale(y, 1) * (HEIGHT - 2 * MARGIN)];

    /** Choose limits that hold all that is shown, and draw the keys of training. */
    function fit() {
      const found = lab.esbn(ids).steps, shown = steps.flatMap((t) => [...cloud.map((each) => each[t]), ESBN.project(plane, found[t].k_w)]);
      limits = [0, 1].map((i) => {
        const values = shown.map((each) => each[i]), low = Math.min(...values), high = Math.max(...values), room = Math.max(0.05, 0.06 * (high - low));
        return [low - room, high + room];
      });
      back.replaceChildren(...ROLES.map((each) => {
        const marks = cloud.flatMap((its) => steps.filter((t) => role(t) === each).map((t) => `M${where(its[t]).join()}${each.shape(2.4)}`));
        return element("path", { d: marks.join(""), class: `live-role-${each.name}` });
      }));
    }

    /** Where the numbers are drawn: on keys that the reader moved, else next to their keys, which stay visible. */
    function spread() {
      const keys = own.map((_, t) => { const [x, y] = where(point(t)); return [inside(x, WIDTH), inside(y, HEIGHT)]; }), spots = [...keys];
      const free = steps.filter((t) => !moves[t]);
      /** Move a number away from a place. */
      function push(s, place, by) {
        let [x, y] = apart(spots[s], place);
        const far = Math.hypot(x, y);
        if (far >= APART) return;
        if (far < 0.5) [x, y] = [Math.cos(2 * s + 1), Math.sin(2 * s + 1)];
        const step = (by * (APART - far)) / Math.hypot(x, y);
        spots[s] = [inside(spots[s][0] + step * x, WIDTH), inside(spots[s][1] + step * y, HEIGHT)];
      }
      for (let turn = 0; turn < 60; turn++) for (const s of free) {
        for (const t of free) push(s, keys[t], 1);
        for (const t of free) if (t !== s) push(s, spots[t], 0.5);
      }
      return spots;
    }

    /** Put the reader's points there, each with a line to its key. */
    function place_points() {
      const spots = spread();
      own.forEach((mark, t) => {
        const at = point(t), [x, y] = where(at), { name, shape } = role(t), [u, v] = spots[t];
        mark.setAttribute("transform", `translate(${u} ${v})`);
        const [dx, dy] = [inside(x, WIDTH) - u, inside(y, HEIGHT) - v];
        for (const [part, key, value] of [["line", "x2", dx], ["line", "y2", dy], ["circle", "cx", dx], ["circle", "cy", dy]]) mark.querySelector(part).setAttribute(key, value);
        mark.setAttribute("class", `live-point live-role-${name}`);
        mark.style.display = steps.includes(t) ? "block" : "none"; // a finger cannot drag what is inline
        mark.setAttribute("aria-label", `Key of step ${t + 1} (${place(t)}), at ${at.map((v) => v.toFixed(1)).join(", ")}. Arrow keys move it.`);
        mark.querySelector("path").setAttribute("d", `M0,0${shape(9)}`);
      });
    }

    /** Move a key along the two axes. */
    function shift(t, along) {
      const [a, b] = axes.map((axis, i) => axis.map((v) => v * along[i]));
      moves[t] = add(moves[t] ?? new Float32Array(a.length), add(a, b));
      ask();
    }

    /** A place in the drawing as [x, y] of the plane. */
    function back_to_plane([u, v]) {
      const parts = [(u - MARGIN) / (WIDTH - 2 * MARGIN), (HEIGHT - MARGIN - v) / (HEIGHT - 2 * MARGIN)];
      return parts.map((part, i) => limits[i][0] + part * (limits[i][1] - limits[i][0]));
    }

    const apart = (one, other) => one.map((v, i) => v - other[i]);
    own.forEach((mark, t) => {
      const at = (event) => back_to_plane(under(svg, event));
      draggable(mark, (event) => {
        const grip = apart(back_to_plane(spread()[t]), at(event)); // from the pointer to the point
        return (later) => shift(t, apart(at(later).map((v, i) => v + grip[i]), point(t)));
      }, () => {
        const spots = spread(), met = steps.find((s) => s !== t && Math.hypot(...apart(spots[s], spots[t])) < APART / 2);
        if (moves[t] && met !== undefined) shift(t, apart(point(met), point(t))); // dropped on a number: onto its key
      });
      mark.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way && event.key !== "Escape") return;
        event.preventDefault();
        if (way) return shift(t, way.map((v, i) => (v * (limits[i][1] - limits[i][0])) / (event.shiftKey ? 8 : 40)));
        delete moves[t];
        ask();
      });
    });

    const group = choice("Show the keys of", Object.keys(GROUPS).map((name) => [name, name]), "the rows", (name) => { steps = GROUPS[name]; fit(); place_points(); explain(); });

    /** The legend has the roles of those keys that are shown. */
    function explain() {
      terms[1].hidden = steps.length <= ROW;
    }

    const terms = ROLES.map(({ name, title, shape }) => element("span", {},
      element("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, element("path", { d: `M0,0${shape(5)}`, class: `live-role-${name}` })), title));
    terms.push(element("span", {}, element("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, element("circle", { r: 5, fill: "none", stroke: "currentColor", "stroke-width": 1.6 })), "this problem"));
    const legend = element("p", { class: "live-legend" }, terms);
    const help = element("p", { class: "live-note" }, "Small: keys of 40 training problems. Rings: keys of this problem, with the steps at which they are written. Drag a number, or use the arrow keys (Shift: farther, Escape: back). Later keys may move along.");
    box.append(told, element("div", { class: "live-controls" }, group, button("Put all keys back", () => { moves = {}; ask(); }), button("Another problem", pose)),
      element("div", { class: "live-columns live-halves" }, element("div", {}, svg, legend), element("div", {}, problem, help)));
    explain();
    pose();
  }

  window.ESBNPlane = { editing };
  figure("esbn_plane", start, ["esbn_pictures", "esbn"]);
})();
