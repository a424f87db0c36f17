/* Draw a curve, and four networks and a Gaussian process go on with it: <div data-live="functions">. */
(function () {
  "use strict";
  const { element, labelled, choice, slider, button, status, scroller, network, figure } = Live;
  const { CURVES, build, goOn, curve, gaussianProcess, likeliest } = Extrapolation;
  const MOST = 16, OWN = "own", SLICE = 12, KEPT = 80;  // observations; the reader's curve; ms at a time; answers
  const LEVEL = { kind: "constant", variance: 1e4 };    // a level that could be anything
  const DEVIATIONS = 2, USUAL = [-2.5, 2.5];            // of the grey band; what the drawing reaches from and to
  // A dash and a mark for each network, so that colour is not needed: paths around 0, about 8 wide.
  const LOOKS = {
    one_d: { dash: "", mark: "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0" },
    one_d_window: { dash: "9 4", mark: "M-3.2 -3.2h6.4v6.4h-6.4z" },
    relational: { dash: "2 3", mark: "M0 -4.2L4 3.2H-4z" },
    relational_window: { dash: "10 3 2 3", mark: "M0 -4.6L4.6 0L0 4.6L-4.6 0z" },
  };

  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;
  const places = (from, count) => Array.from({ length: count }, (_, i) => from + i);

  /** Give an element other attributes. */
  const set = (made, attributes) => { for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value); };

  /** A number as a reader likes it. */
  function shown(v) {
    const text = Math.abs(v) < 1000 ? v.toFixed(2) : v.toPrecision(3);
    return text.replace(/^-(0\.00)$/, "$1").replace("-", "−");
  }

  /** 1, 2 or 5 times a power of ten, the next one above. */
  function round(v) {
    const ten = 10 ** Math.floor(Math.log10(v));
    return ten * [1, 2, 5, 10].find((each) => each * ten >= v * (1 - 1e-9));
  }

  /** The processes to choose from. Their hyperparameters are those of the curves that the networks learned from. */
  function processes({ noise, slope, length, periods, amplitudes: [least, most] }) {
    const half = (least ** 2 + least * most + most ** 2) / 6, [shortest, longest] = periods;
    const line = { title: "a line through 0", parts: [{ kind: "linear", variance: slope ** 2 / 3, start: 0 }], fitted: 0 };
    const random = { title: `a smooth curve of length ${length} (RBF)`, parts: [{ kind: "rbf", variance: 1, length }], fitted: 0 };
    const repeating = places(0, 4 * (longest - shortest) + 1).map((quarter) => shortest + quarter / 4).map((period) => ({
      title: `a curve that comes again after ${period}`, parts: [{ kind: "periodic", variance: half, length: 1.5, period }], fitted: 1,
    }));
    return { noise: noise ** 2, kinds: { likeliest: [line, random, ...repeating], line: [line], random: [random], periodic: repeating } };
  }

  /** Numbers that a reader typed: {values}, or {error}, a sentence. */
  function read(text, { shortest, largest }) {
    const words = text.trim().split(/[\s,;]+/).filter(Boolean), values = words.map((word) => Number(word.replace("−", "-")));
    const strange = words.find((_, i) => !Number.isFinite(values[i]));
    if (strange) return { error: `“${strange}” is no number. The curve stays as it was.` };
    if (words.length < shortest) return { error: `A curve needs at least ${shortest} points. The curve stays as it was.` };
    if (words.length > MOST) return { error: `These are ${words.length} points, and this page takes ${MOST} at most. The curve stays as it was.` };
    const large = words.find((_, i) => Math.abs(values[i]) > largest);
    return large ? { error: `${large} is too large for the networks. The curve stays as it was.` } : { values };
  }

  function start(box, parcel) {
    const { facts } = parcel, { steps, curves: taught } = facts, usual = facts.networks[0].observed;
    const networks = facts.networks.map((each) => ({ ...each, ...build(network(parcel, each.name), each) }));
    const gaussian = processes(taught), answers = new Map();
    const now = {
      curve: "line", seed: 1, noise: taught.noise, base: [], truth: null, lift: 0, stretch: 1, context: "growing",
      process: "likeliest", level: true, fan: true, ahead: false, hidden: new Set(), error: "",
    };
    let results = {}, process = null, stop = () => {}, frame = 0, dragging = false, range = USUAL;

    // --------------------------------------------------------------------------------------------- the curve

    const moved = (values, lift = now.lift) => values.map((v) => now.stretch * v + lift);
    const known = () => moved(now.base);

    function ready() {
      const { truth, y } = curve(now.curve, usual + steps, now.noise, now.seed, taught.length);
      [now.base, now.truth] = [y.slice(0, usual), truth];
      changed();
    }

    /** Give the points values of the reader's own; nobody knows how such a curve goes on. */
    function own(values) {
      [now.base, now.truth, now.curve] = [values.map((v) => (v - now.lift) / now.stretch), null, OWN];
      changed();
    }

    // ------------------------------------------------------------------------------------------- the answers

    /** What a network says, from memory where it has been asked before. Pauses often. */
    function* answer(each, y) {
      const key = [each.name, now.context, ...y].join();
      if (!answers.has(key)) {
        const all = [];
        for (const step of goOn(each, y, steps, now.context)) {
          if (step) all.push(step);
          yield;
        }
        if (answers.size >= KEPT) answers.delete(answers.keys().next().value);
        answers.set(key, all);
      }
      return answers.get(key);
    }

    /** Ask all networks that are shown, the quick ones first; about the unlifted curve too, to see who moved. */
    function* askAll() {
      for (const each of wanted()) {
        const said = yield* answer(each, known()), point = said.map((step) => step.point);
        const before = now.lift ? (yield* answer(each, moved(now.base, 0))).map((step) => step.point) : point;
        const spread = said.map((step) => step.spread), estimates = said.map((step) => step.estimates);
        results[each.name] = { point, spread, estimates, by: point.map((v, i) => v - before[i]), of: now.base.length };
        draw();
      }
    }

    /** Run it a few milliseconds at a time, so that the page stays quick. Returns what stops it. */
    function inSlices(job) {
      let timer = setTimeout(function slice() {
        const end = performance.now() + SLICE;
        while (performance.now() < end) if (job.next().done) return;
        timer = setTimeout(slice);
      });
      return () => clearTimeout(timer);
    }

    /** What the chosen Gaussian process says of observations, or the likeliest of several; nothing where none is wanted. */
    function ask(y) {
      const open = ({ parts, ...rest }) => ({ ...rest, parts: now.level ? parts : [...parts, LEVEL] });
      const kinds = gaussian.kinds[now.process]?.map(open);
      return kinds && likeliest(y, steps, kinds, gaussian.noise);
    }

    /** Something is different: old answers are marked as such, and everybody is asked anew. */
    function changed() {
      stop();
      now.error = "";
      for (const result of Object.values(results)) result.late = true;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        const y = known();
        process = ask(y);
        const before = now.lift ? ask(moved(now.base, 0)) : process;
        if (process) process.by = process.point.map((v, i) => v - before.point[i]);
        draw();
        stop = inSlices(askAll());
      });
    }

    // ------------------------------------------------------------------------------------------- the drawing

    const plot = element("svg", { class: "live-plot", role: "group" });
    const behind = element("g"), points = element("g"), sheet = element("rect", { class: "live-sheet" });
    plot.append(behind, sheet, points);
    let scale;

    /** Where x and y stand in the drawing, as wide as the page lets it be. */
    function scales() {
      const width = Math.max(250, Math.min(760, plot.parentNode.clientWidth)), height = Math.max(240, Math.min(360, 0.5 * width));
      const left = 38, top = 8, bottom = height - 36, last = now.base.length + steps, across = (width - left - 6) / last;
      const [low, high] = range;
      return {
        width, height, left, top, bottom, last, low, high, across,
        x: (i) => left + (i - 0.5) * across, y: (v) => bottom - ((v - low) / (high - low)) * (bottom - top),
        place: (px) => Math.round((px - left) / across + 0.5), value: (py) => low + ((bottom - py) / (bottom - top)) * (high - low),
      };
    }

    const wanted = () => networks.filter(({ name }) => !now.hidden.has(name));
    const visible = () => wanted().filter(({ name }) => results[name]?.of === now.base.length);
    const waiting = () => wanted().some(({ name }) => !results[name] || results[name].late);

    /** From the least to the most that is drawn, in round numbers; `USUAL` where that is enough. */
    function reach() {
      const continued = visible().flatMap(({ name }) => results[name].point);
      const all = [...known(), ...continued, ...(truth() ?? []), ...edge(-1), ...edge(1)], least = Math.min(...all), most = Math.max(...all);
      const flat = most - least < 1 ? 0.5 : 0, low = least - flat, high = most + flat;
      if (low >= USUAL[0] && high <= USUAL[1]) return USUAL;
      const step = round((high - low) / 8);
      return [step * Math.floor(low / step), step * Math.ceil(high / step)];
    }

    const truth = () => (now.ahead && now.truth ? moved(now.truth) : null);
    const finest = () => round((range[1] - range[0]) / 50);  // one press of an arrow key

    function draw() {
      if (!dragging) range = reach();
      scale = scales();
      const N = now.base.length, { width, height, left, top, bottom, x, y, last } = scale;
      const label = `A curve of ${N} points that you can move, and how it goes on to x = ${last}. The table below has the numbers.`;
      set(plot, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": label });
      set(sheet, { x: left, y: top, width: x(N + 0.5) - left, height: bottom - top });
      const path = (from, values) => values.map((v, i) => `${i ? "L" : "M"}${x(from + i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      // A drawing in a drawing cuts off what goes beyond the axes.
      const inside = element("svg", { x: 0, y: top, width, height: bottom - top, viewBox: `0 ${top} ${width} ${bottom - top}` });
      if (process) inside.append(...band(path, N));
      if (truth()) inside.append(element("path", { class: "live-truth", d: path(1, truth()) }));
      for (const each of visible()) inside.append(line(each, path, N));
      behind.replaceChildren(...axes(N), inside);
      drawPoints();
      table();
      tell();
    }

    /** The lower (-1) or upper (1) edge of the grey band. */
    const edge = (sign) => process?.point.map((v, i) => v + sign * DEVIATIONS * process.spread[i]) ?? [];

    function band(path, N) {
      const back = edge(-1).map((v, i) => `L${scale.x(N + 1 + i).toFixed(1)} ${scale.y(v).toFixed(1)}`).reverse().join("");
      const both = element("path", { class: "live-band", d: `${path(N + 1, edge(1))}${back}Z` });
      return [both, element("path", { class: "live-process", d: path(N + 1, process.point) })];
    }

    /** A network's continuation; of a relational one the estimate of every known point too, if they are wanted. */
    function line({ name, relational, colour }, path, N) {
      const { point, estimates, late } = results[name], { dash, mark } = LOOKS[name];
      const estimate = (i) => element("path", { class: "live-estimate", d: path(N + 1, estimates.map((each) => each[i])) });
      const fan = relational && now.fan ? places(0, N).map(estimate) : [];
      const seat = (v, i) => `translate(${scale.x(N + 1 + i)} ${scale.y(v)})`;
      const marks = point.map((v, i) => element("path", { class: "live-mark", d: mark, transform: seat(v, i) }));
      return element("g", { class: late ? "live-late" : "", style: `--own: ${colour}`, "data-network": name },
        fan, element("path", { class: "live-continued", d: path(N + 1, point), "stroke-dasharray": dash }), marks);
    }

    function axes(N) {
      const { left, top, bottom, width, height, x, y, last, low, high, across } = scale;
      const step = round((high - low) / 8), first = Math.ceil(low / step - 1e-9), narrow = across < 20, border = x(N + 0.5);
      const ticks = places(first, Math.floor(high / step + 1e-9) - first + 1).map((count) => step * count);
      const number = (v) => (Math.abs(v) < 1e4 ? String(Number(v.toPrecision(3))) : v.toExponential(0).replace("+", "")).replace(/^-/, "−");
      const text = (x, y, said, anchor = "middle") => element("text", { x, y, "text-anchor": anchor }, said);
      return [
        element("rect", { class: "live-given", x: left, y: top, width: border - left, height: bottom - top }),
        ticks.map((v) => element("line", { class: "live-rule", x1: left, x2: width - 6, y1: y(v), y2: y(v) })),
        ticks.map((v) => text(left - 5, y(v) + 4, number(v), "end")),
        places(1, last).filter((i) => i % (narrow ? 4 : 2) === 0).map((i) => text(x(i), bottom + 14, String(i))),
        text((left + border) / 2, height - 4, border - left < 200 ? "your points" : "your points: drag them, or draw"),
        text((border + width) / 2, height - 4, "how it goes on"),
      ].flat();
    }

    /** The points, each a slider of its own; they stay in the page, so that the one with the focus keeps it. */
    function drawPoints() {
      const y = known();
      while (points.childNodes.length > y.length) points.lastChild.remove();
      while (points.childNodes.length < y.length) points.append(point(points.childNodes.length));
      points.childNodes.forEach((dot, i) => {
        set(dot, { cx: scale.x(i + 1), cy: scale.y(y[i]), "aria-valuenow": y[i].toFixed(3), "aria-valuetext": shown(y[i]) });
        set(dot, { "aria-valuemin": Math.min(range[0], y[i]), "aria-valuemax": Math.max(range[1], y[i]) });
      });
    }

    const point = (i) => element("circle", {
      class: "live-point", r: 6, tabindex: "0", role: "slider", "aria-orientation": "vertical", "aria-label": `point at x = ${i + 1}`,
      onkeydown: (event) => nudge(event, i),
    });

    /** An arrow moves a point a little, Page Up and Page Down more, Home and End all the way. */
    function nudge(event, i) {
      const v = known()[i], step = finest();
      const up = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      const to = up ? v + up * step : { Home: range[0], End: range[1] }[event.key];
      if (to === undefined || Math.abs(to) > facts.largest) return;
      event.preventDefault();
      put([[i, to]]);
    }

    /** Give some points new values, in steps that suit the drawing. */
    function put(pairs) {
      const values = known(), unit = finest() / 10;
      for (const [i, v] of pairs) values[i] = Number((unit * Math.round(v / unit)).toPrecision(12));
      own(values);
    }

    /** Press on a point to move it, or beside one to draw through all that the pointer comes past. */
    function press(event) {
      const held = [...points.childNodes].indexOf(event.target);
      if (dragging || event.button || (held < 0 && event.target !== sheet)) return;
      const seat = ({ clientX, clientY }) => {
        const { left, top } = plot.getBoundingClientRect(), height = Math.max(scale.top, Math.min(scale.bottom, clientY - top));
        return [Math.max(0, Math.min(now.base.length - 1, scale.place(clientX - left) - 1)), scale.value(height)];
      };
      let before = null;
      const move = (each) => {
        const [i, v] = seat(each);
        if (held >= 0) return put([[held, v]]);
        const [from, was] = before ?? [i, v], way = Math.abs(i - from), side = Math.sign(i - from);
        put(places(0, way + 1).map((k) => [from + side * k, way ? was + ((v - was) * k) / way : v]));  // through those between
        before = [i, v];
      };
      const release = () => {
        dragging = false;
        plot.removeEventListener("pointermove", move);
        draw();
      };
      event.preventDefault();
      if (held >= 0) event.target.focus();
      dragging = true;
      plot.setPointerCapture(event.pointerId);
      plot.addEventListener("pointermove", move);
      plot.addEventListener("lostpointercapture", release, { once: true });
      if (held < 0) move(event);
    }
    plot.addEventListener("pointerdown", press);

    // --------------------------------------------------------------------------------------------- the table

    const drawn = (kind, d, more) => element("path", { class: `live-${kind}`, d, ...more });
    const sample = (style, ...parts) => element("svg", { class: "live-sample", width: 34, height: 14, viewBox: "3 0 34 14", "aria-hidden": "true", style }, parts);
    const rows = Object.fromEntries(networks.map(({ name, title, colour }) => {
      const change = () => { now.hidden[checkbox.checked ? "delete" : "add"](name); changed(); };
      const checkbox = element("input", { type: "checkbox", checked: true, onchange: change }), { dash, mark } = LOOKS[name];
      const sign = sample(`--own: ${colour}`, drawn("continued", "M3 7H37", { "stroke-dasharray": dash }), drawn("mark", mark, { transform: "translate(20 7)" }));
      return [name, element("tr", { "data-row": name }, element("th", { scope: "row" }, element("label", {}, checkbox, sign, title)))];
    }));
    const grey = sample("", drawn("band", "M4 1H36V13H4Z"), drawn("process", "M4 7H36"));
    const row = element("tr", { "data-row": "process" }, element("th", { scope: "row" }, grey, "Gaussian process"));
    const head = element("tr"), body = element("tbody", {}, Object.values(rows), row);
    const numbers = element("table", { class: "live-numbers" }, element("thead", {}, head), body);

    function table() {
      const columns = [["network", true], ["next", true], [`after ${steps}`, true], ["spread", true], ["moved by", now.lift !== 0], ["squared error", truth()]];
      head.replaceChildren(...columns.filter(([, here]) => here).map(([title]) => element("th", { scope: "col" }, title)));
      const fill = (line, given) => {
        while (line.childNodes.length > 1) line.lastChild.remove();
        line.append(...given.filter((_, i) => columns[i + 1][1]).map((text) => element("td", {}, text)));
      };
      for (const { name, relational } of networks) {
        const result = results[name], out = now.hidden.has(name), late = !result || result.late;
        fill(rows[name], out || late ? Array(5).fill(out ? "" : "…") : cells(result, relational));
      }
      numbers.setAttribute("aria-busy", String(waiting()));
      row.hidden = !process;
      if (process) fill(row, cells(process, true));
    }

    function cells({ point, spread, by }, uncertain) {
      const least = shown(Math.min(...by)), most = shown(Math.max(...by)), right = truth()?.slice(-steps);
      const span = least === most ? least : `${least} to ${most}`, error = right ? shown(mean(point.map((v, i) => (v - right[i]) ** 2))) : "";
      return [shown(point[0]), shown(point[steps - 1]), uncertain ? shown(spread[steps - 1]) : "none", span, error];
    }

    // ---------------------------------------------------------------------------------------------- in words

    const says = status(), note = element("p", { class: "live-note" });

    /** One sentence or two: how far everybody moved with a lifted curve, else where everybody ends. */
    function tell() {
      const all = wanted(), N = now.base.length;
      const said = () => (!all.length ? "No network is shown. Choose one in the table." : now.lift ? lifted(all) : ends(all, N));
      says.textContent = now.error || (waiting() ? "The networks go on …" : said());
      const strange = N === usual ? "" : ` You gave ${N} points, and the networks learned from ${usual}.`;
      note.textContent = (process ? belief() : "") + strange;
      ownChoice.disabled = now.curve !== OWN;
      ownChoice.selected = now.curve === OWN;
      for (const control of [noise.querySelector("input"), again, behindIt.querySelector("input")]) control.disabled = now.curve === OWN;
      if (document.activeElement !== typed) typed.value = known().map((v) => Number(v.toFixed(3))).join(" ");
    }

    function belief() {
      const level = now.level ? "" : ", at a level that could be any";
      return `The Gaussian process takes your points for ${process.title}, with noise of ${taught.noise} (standard deviation)${level}.` +
        " If it is right, about 95 of 100 next observations fall into the grey band.";
    }

    function ends(all, N) {
      return `${steps} steps on, at x = ${N + steps}: ${all.map(({ name, title }) => `${title} ${shown(results[name].point[steps - 1])}`).join("; ")}.`;
    }

    function lifted(all) {
      const by = Math.abs(now.lift), way = now.lift > 0 ? "up" : "down";
      const exact = all.filter(({ name }) => results[name].by.every((v) => Math.abs(v - now.lift) < 1e-4));
      const told = all.map(({ name, title }) => `${title} ${shown(mean(results[name].by))}`).join("; ");
      const together = exact.length ? ` Exactly with the curve at every step: ${exact.map(({ title }) => title).join("; ")}.` : "";
      return `You moved the curve ${way} by ${shown(by)}. What follows moved, on average: ${told}.${together}`;
    }

    // ------------------------------------------------------------------------------------------ the controls

    const ownChoice = element("option", { value: OWN }, "your own");
    const titles = Object.entries(CURVES).map(([name, { title }]) => [name, title]);
    const curves = choice("Curve", titles, now.curve, (name) => { now.curve = name; ready(); });
    curves.querySelector("select").append(ownChoice);
    const again = button("Draw again", () => { now.seed += 1; ready(); });
    const noise = slider("Noise", { min: 0, max: 0.3, step: 0.05, value: now.noise, shown }, (v) => { now.noise = v; ready(); });
    const lift = slider("Lift", { min: -2, max: 2, step: 0.1, value: 0, shown }, (v) => { now.lift = v; changed(); });
    const stretch = slider("Stretch", { min: 0.2, max: 3, step: 0.1, value: 1, shown }, (v) => { now.stretch = v; changed(); });
    const tick = (text, on, change) => {
      const made = element("input", { type: "checkbox", checked: on, onchange: () => change(made.checked) });
      return element("label", { class: "live-tick" }, made, text);
    };
    const behindIt = tick("show the curve behind it", now.ahead, (on) => { now.ahead = on; draw(); });
    const typed = element("input", { type: "text", size: 40, autocomplete: "off", spellcheck: "false" });
    const form = element("form", { class: "live-controls", onsubmit: (event) => { event.preventDefault(); take(); } },
      labelled("Or type values", typed), element("button", { type: "submit" }, "Use these"));

    /** Values as they were typed: neither lifted nor stretched. */
    function take() {
      const { values, error } = read(typed.value, facts);
      if (error) {
        now.error = error;
        return tell();
      }
      for (const [control, value] of [[lift, 0], [stretch, 1]]) {
        const input = control.querySelector("input");
        input.value = value;
        input.dispatchEvent(new Event("input"));
      }
      own(values);
    }

    const kernels = [
      ["likeliest", "the likeliest of these"], ["line", "expects a line"], ["random", "expects a smooth curve"],
      ["periodic", "expects a rhythm"], ["none", "none"],
    ];
    const contexts = [["growing", "grows, as in the paper"], ["sliding", "slides: the latest points only"]];
    const legend = "What each says of the next point and of the last, and how far its estimates spread there (standard deviation).";
    box.append(
      element("div", { class: "live-controls" }, curves, again, noise),
      element("div", { class: "live-controls" }, lift, stretch),
      element("div", { class: "live-canvas" }, plot), says,
      element("p", { class: "live-note" }, legend), scroller("What each network says", numbers),
      element("div", { class: "live-controls" },
        behindIt, tick("show all estimates of the relational networks", now.fan, (on) => { now.fan = on; draw(); }),
        choice("Context", contexts, now.context, (context) => { now.context = context; changed(); }),
        choice("Gaussian process", kernels, now.process, (name) => { now.process = name; changed(); }),
        tick("the process knows the level", now.level, (on) => { now.level = on; changed(); })),
      form, note);
    new ResizeObserver(() => { if (plot.parentNode.clientWidth) draw(); }).observe(plot.parentNode);
    ready();
  }

  window.FunctionsFigure = { processes };
  figure("functions", start);
})();
