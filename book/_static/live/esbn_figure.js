/* Give the ESBN objects, read its memory and change its keys: <div data-live="esbn">. Steps count from 0 here, from 1 in what is shown. */
(function () {
  "use strict";
  const { element, labelled, choice, slider, set, button, status, scroller, network, figure } = Live;
  const { add, argmax, rows, softmax, uniform } = Arithmetic;
  const { SIDE, ROW, ASKED } = ESBN;
  const STEPS = 9, MANY = 100; // pictures of a problem; problems asked at once
  const FIRST = 9; // seed of the problems; in the first one the LSTM errs, and the answer hangs on keys 4 and 5
  const percent = (p) => `${Math.round(100 * p)} %`;
  const numbered = (list) => list.map((t) => [t, String(t + 1)]);
  const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

  /* ------------------------------------------------------------------ networks, pictures, and what is done to memory */

  /* Where problems come from. */
  const KINDS = [
    { name: "new", title: "with new objects", draw: (random, { unseen }) => ESBN.draw(random, unseen) },
    { name: "seen", title: "with the five objects of training", draw: (random, { seen }) => ESBN.draw(random, seen) },
    { name: "training", title: "of training itself", draw: (random, { training }) => training[Math.floor(random() * training.length)] },
  ];

  /** Both networks, the pictures that they are asked about, and how to draw a problem of each kind. */
  function laboratory(parcel) {
    const { networks, names, seen, training } = parcel.facts, unseen = [...names.keys()].filter((id) => !seen.includes(id));
    const nets = Object.fromEntries(networks.map(({ name }) => [name, network(parcel, name)]));
    const pictures = rows({ shape: [SIDE * SIDE], data: parcel.tensors.images.data })
      .map((bytes, id) => ({ image: bytes.map((v) => v / 255), name: names[id], seen: seen.includes(id), embedded: {} }));
    const encoded = (name, { image, embedded }) => (embedded[name] ??= ESBN.encode(nets[name], image));
    const embed = (name, ids) => ESBN.normalise(nets[name], ids.map((id) => encoded(name, pictures[id])));
    return {
      pictures,
      draw: Object.fromEntries(KINDS.map(({ name, draw }) => [name, (random) => draw(random, { seen, unseen, training })])),
      esbn: (ids, edit) => ESBN.run(nets.esbn, embed("esbn", ids), edit),
      lstm: (ids) => ESBN.baseline(nets.lstm, embed("lstm", ids)),
    };
  }

  /* An operation on memory: from step `at` on, each of its `entries` holds the key that another held; null stands for zeros. */
  const OPERATIONS = [
    { text: "row 1: swap keys 1 and 3", at: 3, entries: { 0: 2, 2: 0 } },
    { text: "row 1: key 1 for all", at: 3, entries: { 0: 0, 1: 0, 2: 0 } },
    { text: "row 1: zeros", at: 3, entries: { 0: null, 1: null, 2: null } },
    { text: "row 2: key 1 for both", at: 5, entries: { 3: 0, 4: 0 } },
  ];
  const swap = (i, j) => ({ text: `keys ${i + 1} and ${j + 1} swapped`, at: Math.max(i, j) + 1, entries: { [i]: j, [j]: i } });

  /** What memory holds at step t, after the operations of that step on what it held; `nothing` makes zeros. */
  function operate(operations, t, held, nothing) {
    const one = (all, { entries }) => all.map((each, i) => {
      if (!(i in entries)) return each;
      return entries[i] === null ? nothing(each) : all[entries[i]];
    });
    return operations.filter(({ at }) => at === t).reduce(one, held);
  }

  /** All edits as a function for `ESBN.run`: a key is moved once it is written, and then operated on. */
  const editing = ({ moves, operations }) => (t, keys) =>
    operate(operations, t, keys.map((key, i) => (i === t - 1 && moves[i] ? add(key, moves[i]) : key)), (key) => key.map(() => 0));

  /** Of each entry at step t, the step that wrote the key it holds; null for zeros. */
  function sources(operations, t) {
    return range(0, t + 1).reduce((held, s) => operate(operations, s, s ? [...held, s - 1] : held, () => null), []);
  }

  /* --------------------------------------------------------------------------------------------------- roles */

  const ROLES = [
    { name: "first", title: "row 1", shape: "circle" },
    { name: "second", title: "row 2", shape: "square" },
    { name: "before", title: "choice, the right one not shown yet", shape: "triangle" },
    { name: "after", title: "choice, the right one already shown", shape: "diamond" },
  ];

  /** What a step is in a problem. The key of step t knows of the steps before it alone. */
  function role(ids, t) {
    if (t < ASKED) return ROLES[t < ROW ? 0 : 1];
    return ROLES[ASKED + ESBN.solve(ids).answer < t ? 3 : 2];
  }

  /** A step in words. */
  function place(t) {
    if (t < ASKED) return t < ROW ? `row 1, place ${t + 1}` : `row 2, place ${t - ROW + 1}`;
    return t < STEPS ? `choice ${t - ASKED + 1}` : "no picture";
  }

  const SHAPES = {
    circle: (r) => `m${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0z`,
    square: (r) => `m${-0.9 * r},${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
    triangle: (r) => `m0,${-1.3 * r}l${1.2 * r},${2.1 * r}h${-2.4 * r}z`,
    diamond: (r) => `m0,${-1.3 * r}l${1.3 * r},${1.3 * r}l${-1.3 * r},${1.3 * r}l${-1.3 * r},${-1.3 * r}z`,
  };

  /* ---------------------------------------------------------------------------------------------- parts of the page */

  /** A picture of 32x32 as an image element; its name is what a screen reader says. */
  function shown(picture) {
    picture.url ??= painted(picture.image).toDataURL();
    return element("img", { src: picture.url, alt: picture.name, title: picture.name, width: SIDE, height: SIDE, class: "live-picture" });
  }

  function painted(image, canvas = element("canvas", { width: SIDE, height: SIDE })) {
    const data = new ImageData(SIDE, SIDE);
    image.forEach((v, i) => data.data.set([255 * v, 255 * v, 255 * v, 255], 4 * i));
    canvas.getContext("2d").putImageData(data, 0, 0);
    return canvas;
  }

  /** A key as 64 bars, each the mean of four numbers; the root makes small ones visible. */
  function strip(key) {
    const means = range(0, 64).map((i) => key.subarray(4 * i, 4 * i + 4).reduce((sum, v) => sum + v / 4, 0));
    const drawing = means.map((v, i) => `M${i},10h1v${-10 * Math.min(1, Math.sqrt(Math.max(0, v)) / 3)}h-1z`).join("");
    const box = { viewBox: "0 0 64 10", preserveAspectRatio: "none", class: "live-key", "aria-hidden": "true" };
    return element("svg", box, element("path", { d: drawing }));
  }

  /** Put new children into a box; what had the focus keeps it, by its data-place. */
  function refill(box, ...children) {
    const focused = box.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
    box.replaceChildren(...children);
    if (focused !== undefined) box.querySelector(`[data-place="${focused}"]`)?.focus();
  }

  const title = (text) => element("p", { class: "live-title" }, text);

  /* ------------------------------------------------------------------------------------------------------ the figure */

  function start(box, parcel) {
    const { facts } = parcel, lab = laboratory(parcel), random = uniform(FIRST);
    const state = { ids: lab.draw.new(random), kind: "new", step: ASKED, moves: {}, operations: [], everywhere: true };
    const verdict = status(), problem = element("div"), memory = scroller("Memory at this step"), reading = element("p");
    const done = status(), echo = element("div", { class: "live-told" });
    const goTo = (t) => set(steps, t + 1);

    /** Ask the networks again: both for other objects, the ESBN alone where memory is changed. */
    function ask(objects = true) {
      if (objects) state.lstm = lab.lstm(state.ids);
      state.trace = lab.esbn(state.ids, editing(state));
      state.chances = { esbn: softmax(state.trace.logits), lstm: softmax(state.lstm) };
      verdict.replaceChildren(...says(state, facts, lab.pictures).map((sentence) => element("span", {}, sentence)));
      done.textContent = edits(state);
      const each = Array.from(state.chances.esbn, (p, i) => element("span", {}, shown(lab.pictures[state.ids[ASKED + i]]), ` ${percent(p)}`));
      echo.replaceChildren("The ESBN now: ", ...each);
      look();
      plane.move();
    }

    function look() {
      refill(problem, table(state, facts, lab.pictures, goTo));
      memory.replaceChildren(entries(state, lab.pictures));
      reading.replaceChildren(...traffic(state));
      objects.tell();
    }

    function replace(ids) {
      state.ids = ids;
      plane.fit(ids);
      ask();
    }

    function operation(each) {
      state.operations.push(each);
      ask(false);
    }

    function putBack() {
      Object.assign(state, { moves: {}, operations: [] });
      ask(false);
    }

    const named = (n) => `${n}: ${place(n - 1)}`;
    const steps = slider("Step", { min: 1, max: STEPS + 1, value: state.step + 1, shown: named }, (n) => { state.step = n - 1; look(); });
    const objects = cupboard(lab, state, replace);
    const plane = keyPlane(parcel, lab, state, () => ask(false), goTo);
    const next = () => replace(lab.draw[state.kind](random));
    const kinds = choice("Problems", KINDS.map(({ name, title }) => [name, title]), state.kind, (kind) => { state.kind = kind; next(); });
    box.append(
      element("div", { class: "live-controls" }, kinds, button("Another problem", next), ...examiner(lab, state, facts, random)), verdict,
      element("div", { class: "live-columns" }, problem, objects.box),
      element("div", { class: "live-columns live-halves" },
        element("div", {}, title("Memory, step by step"), element("div", { class: "live-controls" }, steps), memory, reading),
        element("div", {}, title("Change what memory holds"),
          element("p", { class: "live-examples" }, OPERATIONS.map((each) => button(each.text, () => operation(each)))),
          exchange(state, operation, replace), element("p", {}, button("Put all keys back", putBack)), done, echo)),
      title("Keys as points: move them"), plane.box,
    );
    plane.fit(state.ids);
    ask();
  }

  /** What both networks say, in sentences. */
  function says({ ids, chances }, { networks }, pictures) {
    const { answer, error } = ESBN.solve(ids);
    const right = error ?? `Right is choice ${answer + 1}, ${pictures[ids[ASKED + answer]].name}.`;
    const each = networks.map(({ name, title }) => {
      const said = argmax(chances[name]), mark = error ? "" : said === answer ? "✓ " : "✗ ";
      return `${mark}The ${title} says ${said + 1}, with ${percent(chances[name][said])}. `;
    });
    return [`${right} `, ...each];
  }

  /** What was done to memory, in a sentence. */
  function edits({ moves, operations }) {
    const moved = Object.keys(moves).map((t) => `key ${Number(t) + 1} moved`), all = [...moved, ...operations.map(({ text }) => text)];
    return all.length ? `Changed: ${all.join("; ")}.` : "Memory is as the network wrote it.";
  }

  /** The problem, and under each choice how probable each network finds it. */
  function table({ ids, step, chances }, { networks }, pictures, goTo) {
    const right = ASKED + ESBN.solve(ids).answer;
    const object = (t) => button(shown(pictures[ids[t]]), () => goTo(t), {
      class: "live-object", "data-place": t, "aria-pressed": String(t === step),
      "aria-label": `step ${t + 1}, ${place(t)}: ${pictures[ids[t]].name}${t === right ? ", the right one" : ""}`,
    });
    const cell = (t) => element("td", t === right ? { class: "live-right" } : {}, object(t));
    const line = (name, from, to, ...more) => element("tr", {}, element("th", { scope: "row" }, name), range(from, to).map(cell), ...more);
    const answers = networks.map(({ name, title }) => element("tr", {}, element("th", { scope: "row" }, title),
      Array.from(chances[name], (p) => element("td", {}, bar(p), percent(p)))));
    return element("table", { class: "live-problem" }, element("caption", {}, "Press an object to look at its step."), element("tbody", {},
      line("row 1", 0, ROW), line("row 2", ROW, ASKED, element("td", {}, "?")), line("choices", ASKED, STEPS), answers));
  }

  const bar = (p) => element("span", { class: "live-bar", style: `width: ${Math.round(100 * p)}%` });

  /** Memory as the step finds it: a row an entry. */
  function entries({ ids, step, trace, operations }, pictures) {
    const { w, c, M_k } = trace.steps[step], held = sources(operations, step), most = Math.max(...w);
    const looked = step < STEPS ? [" looks up ", shown(pictures[ids[step]])] : [" has no picture: it looks up zeros"];
    const lines = M_k.map((key, i) => {
      const from = held[i] === null ? "zeros" : held[i] === i ? null : element("span", {}, `key of ${held[i] + 1}`);
      return element("tr", { class: w[i] > 0.5 * most && step < STEPS ? "live-found" : null },
        element("th", { scope: "row" }, `${i + 1} `, shown(pictures[ids[i]])), element("td", {}, strip(key), from),
        element("td", {}, bar(w[i]), percent(w[i])), element("td", {}, percent(c[i])));
    });
    const head = ["entry", "key", "weight", "confidence"].map((name) => element("th", { scope: "col" }, name));
    const caption = element("caption", {}, `Step ${step + 1}`, looked, lines.length ? "." : ". Memory is empty.");
    return element("table", { class: "live-memory" }, caption,
      lines.length ? element("thead", {}, element("tr", {}, head)) : null, element("tbody", {}, lines));
  }

  /** What the step reads and writes, in sentences with keys. */
  function traffic({ step, trace }) {
    const { k_w, k_r, g } = trace.steps[step], K = k_w.length;
    const gate = `The gate is open by ${percent(g)}. Through it comes the key `, confidence = `, with a confidence of ${percent(k_r[K])}.`;
    const through = [gate, strip(k_r.subarray(0, K)), confidence];
    if (step === STEPS) return [...through, " The network answers before it hears of this."];
    return [...(step ? through : ["Nothing is read."]), " The step writes the key ", strip(k_w), "."];
  }

  /** Ask many problems of the kind that is chosen, with memory changed as it is now. */
  function examiner(lab, state, { networks }, random) {
    const tally = status();
    let busy = false;
    async function examine() {
      if (busy) return;
      busy = true;
      const { name: kind, title: which } = KINDS.find(({ name }) => name === state.kind);
      tally.textContent = `Asking ${MANY} problems ${which} …`;
      const edit = editing({ moves: { ...state.moves }, operations: [...state.operations] }), right = { esbn: 0, lstm: 0 };
      for (let n = 0; n < MANY; n++) {
        if (n % 4 === 0) await new Promise((resolve) => setTimeout(resolve));
        const ids = lab.draw[kind](random), { answer } = ESBN.solve(ids);
        right.esbn += argmax(lab.esbn(ids, edit).logits) === answer;
        right.lstm += argmax(lab.lstm(ids)) === answer;
      }
      const [first, second] = networks.map(({ name, title }) => `the ${title} is right on ${right[name]}`);
      tally.textContent = `Of ${MANY} problems ${which}, ${first}, ${second}. By chance it would be ${MANY / 4}.`;
      busy = false;
    }
    return [button(`Ask ${MANY}`, examine), tally];
  }

  /** Swap the keys of two entries, or the objects of two steps. */
  function exchange(state, operation, replace) {
    const chosen = { what: "keys", one: 0, other: 3 }, note = element("span", { role: "status" });
    function exchangeNow() {
      const { what, one, other } = chosen;
      note.textContent = one === other ? "Choose two different steps." : "";
      if (one === other) return;
      if (what === "keys") return operation(swap(one, other));
      replace(state.ids.map((id, t) => (t === one ? state.ids[other] : t === other ? state.ids[one] : id)));
    }
    const pick = (text, name) => choice(text, numbered(range(0, STEPS)), chosen[name], (t) => { chosen[name] = Number(t); });
    const what = choice("Swap the", [["keys", "keys"], ["objects", "objects"]], chosen.what, (value) => { chosen.what = value; });
    return element("div", { class: "live-controls" }, what, pick("of step", "one"), pick("and step", "other"), button("Swap", exchangeNow), note);
  }

  /* --------------------------------------------------------------------------------------- objects to choose or to draw */

  /** All pictures as buttons, and a pad to draw one on. */
  function cupboard(lab, state, replace) {
    const about = element("p", { role: "status" });
    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Objects. Arrow keys walk through them." });
    const everywhere = element("input", { type: "checkbox", checked: true, onchange: () => { state.everywhere = everywhere.checked; } });

    function put(id) {
      if (state.step === STEPS) return tell("Choose another step first.");
      const old = state.ids[state.step];
      replace(state.ids.map((each, t) => (t === state.step || (state.everywhere && each === old) ? id : each)));
    }

    /** Put a drawn picture in. One that is there already keeps its name. */
    function take(image) {
      const same = lab.pictures.findIndex((each) => each.image.every((v, i) => v === image[i]));
      const id = same < 0 ? lab.pictures.length : same, drawn = lab.pictures.filter(({ own }) => own).length;
      if (same < 0) lab.pictures.push({ image, name: `your drawing ${drawn + 1}`, own: true, embedded: {} });
      fill();
      put(id);
    }

    function fill() {
      refill(shelf, ...lab.pictures.map((picture, id) => button(shown(picture), () => put(id), {
        class: `live-object${picture.seen ? " live-seen" : ""}`, "data-place": id, tabindex: id ? -1 : 0,
        "aria-label": picture.name + (picture.seen ? ", seen in training" : ""),
      })));
    }

    /** Say which step an object will be put into. */
    function tell(more = "") {
      const { step, ids } = state;
      if (step === STEPS) about.textContent = `Step 10 has no picture. ${more}`;
      else about.textContent = `Step ${step + 1} (${place(step)}) shows ${lab.pictures[ids[step]].name}. Press an object to put it there.`;
    }

    shelf.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -10, ArrowDown: 10 }[event.key];
      if (!way) return;
      event.preventDefault();
      const now = document.activeElement, next = shelf.children[[...shelf.children].indexOf(now) + way];
      if (!next) return;
      now.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    fill();
    const training = element("p", { class: "live-note" }, "The five with a dashed frame are those of training. Others are new to both networks.");
    const box = element("details", {}, element("summary", {}, "Choose other objects, or draw one"), about,
      labelled("wherever the old one stands", everywhere),
      element("div", { class: "live-columns live-halves" }, element("div", {}, shelf, training), drawingPad(take)));
    return { box, tell };
  }

  /** A pad of 32x32: draw with mouse, finger or keys. `use` gets the picture. */
  function drawingPad(use) {
    const image = new Float32Array(SIDE * SIDE).fill(1), pen = { x: 16, y: 16, down: false }, note = element("span", { role: "status" });
    const label = "Drawing pad. Arrow keys move the pen, space puts it down and lifts it.";
    const canvas = element("canvas", { width: SIDE, height: SIDE, tabindex: 0, role: "application", class: "live-pad", "aria-label": label });

    function paint() {
      painted(image, canvas);
      const brush = canvas.getContext("2d");
      brush.fillStyle = pen.down ? "#d55e00" : "#0072b2";
      if (document.activeElement === canvas) brush.fillRect(pen.x, pen.y, 1, 1);
    }

    /** Ink around the pen: a dot three pixels wide. */
    function dab() {
      for (let v = Math.max(0, pen.y - 1); v <= Math.min(SIDE - 1, pen.y + 1); v++)
        for (let u = Math.max(0, pen.x - 1); u <= Math.min(SIDE - 1, pen.x + 1); u++) image[v * SIDE + u] = 0;
    }

    /** Move the pen, with a line of dots where it is down. */
    function moveTo(x, y) {
      const from = { ...pen }, far = Math.max(1, Math.abs(x - from.x), Math.abs(y - from.y));
      for (let i = 1; i <= far; i++) {
        Object.assign(pen, { x: Math.round(from.x + ((x - from.x) * i) / far), y: Math.round(from.y + ((y - from.y) * i) / far) });
        if (pen.down) dab();
      }
      paint();
    }

    const within = (v) => Math.min(SIDE - 1, Math.max(0, Math.floor(v)));
    function at(event) {
      const { left, top, width, height } = canvas.getBoundingClientRect();
      return [within(((event.clientX - left) / width) * SIDE), within(((event.clientY - top) / height) * SIDE)];
    }
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      for (const down of [false, true]) { pen.down = down; moveTo(...at(event)); }
    });
    canvas.addEventListener("pointermove", (event) => { if (canvas.hasPointerCapture(event.pointerId)) moveTo(...at(event)); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { pen.down = false; paint(); });
    canvas.addEventListener("keydown", (event) => {
      const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], " ": [0, 0] }[event.key];
      if (!way) return;
      event.preventDefault();
      if (event.key === " ") { pen.down = !pen.down; note.textContent = pen.down ? "The pen is down." : "The pen is up."; }
      moveTo(within(pen.x + way[0]), within(pen.y + way[1]));
    });
    for (const event of ["focus", "blur"]) canvas.addEventListener(event, paint);
    const clear = () => { image.fill(1); paint(); };
    const take = () => {
      if (image.every((v) => v === 1)) { note.textContent = "The pad is empty. Draw something first."; return; }
      note.textContent = "";
      use(image.slice());
    };
    paint();
    const help = element("p", { class: "live-note" }, "Draw with the mouse or a finger, or move the pen by arrow keys: space puts it down and lifts it.");
    const buttons = element("div", { class: "live-controls" }, button("Use this drawing", take), button("Clear", clear));
    return element("div", { class: "live-controls" }, canvas, element("div", {}, buttons, help, note));
  }

  /* ------------------------------------------------------------------------------------------------- the plane of keys */

  const WIDTH = 340, HEIGHT = 260, MARGIN = 16;
  const GROUPS = [
    ["all nine steps", range(0, STEPS)], ["row 1", range(0, ROW)], ["row 2", range(ROW, ASKED)],
    ["choices", range(ASKED, STEPS)], ...range(0, STEPS).map((t) => [`step ${t + 1}`, [t]]),
  ];

  /** Keys of training problems as small points, those of this problem as large ones that can be moved. */
  function keyPlane(parcel, lab, state, changed, goTo) {
    const { facts, tensors } = parcel, view = { basis: facts.bases[0].name, steps: GROUPS[0][1], drawn: 0 };
    const planes = Object.fromEntries(facts.bases.map(({ name }) => {
      const { centre, axes, cloud } = network(parcel, name), points = rows(cloud);
      const problems = range(0, points.length / STEPS).map((n) => points.slice(n * STEPS, (n + 1) * STEPS));
      return [name, { centre: centre.data, axes: rows(axes), cloud: problems }];
    }));
    const back = element("g"), path = element("polyline", { class: "live-path" }), told = element("div", { class: "live-told" });
    const own = range(0, STEPS).map((t) => element("g", { role: "button", tabindex: 0, class: "live-point" },
      element("path"), element("text", { "text-anchor": "middle", dy: "0.35em" }, String(t + 1))));
    const label = "Keys in the plane of their two principal components. Numbered points are the keys of this problem: arrow keys move them.";
    const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "group", class: "live-plane", "aria-label": label },
      element("rect", { x: 0.5, y: 0.5, width: WIDTH - 1, height: HEIGHT - 1, class: "live-frame" }), back, path,
      element("text", { x: WIDTH - 6, y: HEIGHT - 6, "text-anchor": "end" }, "component 1"), element("text", { x: 6, y: 14 }, "component 2"), own);
    let limits;

    /** The key of a step as a point, with what the reader moved it by. */
    function point(t) {
      const { k_w } = state.trace.steps[t];
      return ESBN.project(planes[view.basis], state.moves[t] ? add(k_w, state.moves[t]) : k_w);
    }

    const scale = (v, i) => (v - limits[i][0]) / (limits[i][1] - limits[i][0]);
    const inside = (v, size) => Math.min(size - MARGIN, Math.max(MARGIN, v));
    const where = ([x, y]) => [MARGIN + scale(x, 0) * (WIDTH - 2 * MARGIN), HEIGHT - MARGIN - scale(y, 1) * (HEIGHT - 2 * MARGIN)];

    /** Choose limits that hold all that is shown, and draw the points of training. */
    function fit(ids = state.ids) {
      const { cloud } = planes[view.basis], { steps } = lab.esbn(ids);
      const all = view.steps.flatMap((t) => [...cloud.map((each) => each[t]), ESBN.project(planes[view.basis], steps[t].k_w)]);
      limits = [0, 1].map((i) => {
        const values = all.map((each) => each[i]), low = Math.min(...values), high = Math.max(...values);
        const room = Math.max(0.05, 0.06 * (high - low));
        return [low - room, high + room];
      });
      back.replaceChildren(...ROLES.map((each) => {
        const marks = cloud.flatMap((points, n) => view.steps.filter((t) => role(facts.training[n], t) === each)
          .map((t) => `M${where(points[t]).join()}${SHAPES[each.shape](2.4)}`));
        return element("path", { d: marks.join(""), class: `live-role-${each.name}` });
      }));
      tellTraining();
    }

    /** Put the reader's points where their keys are. */
    function move() {
      own.forEach((mark, t) => {
        const at = point(t), [x, y] = where(at), { name, shape, title } = role(state.ids, t);
        mark.setAttribute("transform", `translate(${inside(x, WIDTH)} ${inside(y, HEIGHT)})`);
        mark.setAttribute("class", `live-point live-role-${name}`);
        mark.style.display = view.steps.includes(t) ? "block" : "none"; // a finger cannot drag what is inline
        mark.setAttribute("aria-label", `Key of step ${t + 1} (${title}), at ${at.map((v) => v.toFixed(1)).join(", ")}. Arrow keys move it, Enter shows the step.`);
        mark.firstChild.setAttribute("d", `M0,0${SHAPES[shape](9)}`);
      });
    }

    /** Move a key along the two axes. */
    function shift(t, along) {
      const { axes } = planes[view.basis], [a, b] = axes.map((axis, i) => axis.map((v) => v * along[i]));
      state.moves[t] = add(state.moves[t] ?? new Float32Array(a.length), add(a, b));
      changed();
    }

    /** A place on the screen as [x, y] of the plane. */
    function under(event) {
      const { left, top, width, height } = svg.getBoundingClientRect();
      const u = ((event.clientX - left) / width) * WIDTH, v = ((event.clientY - top) / height) * HEIGHT;
      const parts = [(u - MARGIN) / (WIDTH - 2 * MARGIN), (HEIGHT - MARGIN - v) / (HEIGHT - 2 * MARGIN)];
      return parts.map((part, i) => limits[i][0] + part * (limits[i][1] - limits[i][0]));
    }

    const apart = (one, other) => one.map((v, i) => v - other[i]);
    own.forEach((mark, t) => {
      let grip = null; // from the pointer to the point
      mark.addEventListener("pointerdown", (event) => {
        grip = apart(point(t), under(event));
        mark.setPointerCapture(event.pointerId);
      });
      mark.addEventListener("pointermove", (event) => {
        if (grip) shift(t, apart(under(event).map((v, i) => v + grip[i]), point(t)));
      });
      for (const end of ["pointerup", "pointercancel"]) mark.addEventListener(end, () => { grip = null; });
      mark.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way && !["Enter", " ", "Escape"].includes(event.key)) return;
        event.preventDefault();
        if (event.key === "Escape") { delete state.moves[t]; changed(); }
        else if (!way) goTo(t);
        else shift(t, way.map((v, i) => (v * (limits[i][1] - limits[i][0])) / (event.shiftKey ? 8 : 40)));
      });
    });

    svg.addEventListener("pointermove", (event) => {
      if (event.buttons || event.target.closest(".live-point")) return;
      const [u, v] = where(under(event)), near = { far: (10 * WIDTH) / svg.getBoundingClientRect().width };
      planes[view.basis].cloud.forEach((each, n) => view.steps.forEach((t) => {
        const [x, y] = where(each[t]), far = Math.hypot(x - u, y - v);
        if (far < near.far) Object.assign(near, { far, n });
      }));
      if (near.n !== undefined && near.n !== view.drawn) set(training, near.n + 1);
    });

    /** The chosen training problem: its pictures, and the way of its keys through the plane. */
    function tellTraining() {
      const ids = facts.training[view.drawn], { answer } = ESBN.solve(ids);
      path.setAttribute("points", view.steps.map((t) => where(planes[view.basis].cloud[view.drawn][t]).join()).join(" "));
      const all = ids.map((id) => shown(lab.pictures[id]));
      told.replaceChildren(...all.slice(0, ROW), "·", ...all.slice(ROW, ASKED), "? ·", ...all.slice(ASKED), `right is choice ${answer + 1}`);
    }

    const last = planes[view.basis].cloud.length;
    const training = slider("Training problem", { min: 1, max: last, value: 1 }, (n) => { view.drawn = n - 1; tellTraining(); });
    const redraw = () => { fit(); move(); };
    const group = choice("Show", GROUPS.map(([text], i) => [i, text]), 0, (i) => { view.steps = GROUPS[i][1]; redraw(); });
    const basis = choice("Plane of", facts.bases.map(({ name, title }) => [name, title]), view.basis, (name) => { view.basis = name; redraw(); });
    const legend = element("p", { class: "live-legend" }, ROLES.map(({ name, title, shape }) => element("span", {},
      element("svg", { viewBox: "-8 -8 16 16", "aria-hidden": "true" }, element("path", { d: `M0,0${SHAPES[shape](5)}`, class: `live-role-${name}` })),
      title)));
    const help = element("p", { class: "live-note" },
      "Drag a numbered point, or focus it and use the arrow keys (with Shift: farther; Escape: back). ",
      "Keys 1 to 3 lie almost on one spot: show row 1 to see them apart. Small points are keys of training problems; a line joins those of one.");
    const controls = element("div", { class: "live-controls" }, group, basis), trained = element("div", { class: "live-controls" }, training, told);
    return { box: element("div", {}, controls, svg, legend, help, trained), fit, move };
  }

  window.ESBNFigure = { OPERATIONS, laboratory, editing, start };
  figure("esbn", start);
})();
