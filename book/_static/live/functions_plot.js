/* A curve whose points a reader moves or draws, and how networks continue it: what the figures of function extrapolation share. */
(function () {
  "use strict";
  const { element, labelled, field, form, button, draggable, decimals: shown } = Live;
  const { CURVES, goOn } = Extrapolation;
  const MOST = 16, SLICE = 12, USUAL = [-2.5, 2.5];  // points; ms of work at a time; from where to where a drawing reaches

  const { range: places } = Arithmetic;
  const set = (made, attributes) => { for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value); };

  /** 1, 2 or 5 times a power of ten, the next one above. */
  function round(v) {
    const ten = 10 ** Math.floor(Math.log10(v));
    return ten * [1, 2, 5, 10].find((each) => each * ten >= v * (1 - 1e-9));
  }

  /** Numbers that a reader typed: {values}, or {error}, a sentence. */
  function read(text, { shortest, largest }) {
    const words = text.trim().split(/[\s,;]+/).filter(Boolean), values = words.map((word) => Number(word.replace("−", "-")));
    const strange = words.find((_, i) => !(Math.abs(values[i]) <= largest));
    if (strange) return { error: `“${strange}” is not a number that the networks can take.` };
    if (words.length < shortest || words.length > MOST) return { error: `Type ${shortest} to ${MOST} numbers; these are ${words.length}.` };
    return { values };
  }

  /** Ready curves by name: {title, y, truth}, truth for the steps to come as well. */
  function curves({ smooth, observed, steps }) {
    const made = ([name, { title, f }]) => [name, { title, y: places(1, observed + 1).map(f), truth: places(1, observed + steps + 1).map(f) }];
    const own = { title: "a random smooth curve", y: smooth.y.slice(0, observed), truth: smooth.truth };
    return Object.fromEntries([...Object.entries(CURVES).map(made), ["smooth", own]]);
  }

  /** A drawing with points to move. The figure gives `lines`, which returns [name, values, kind, late] from the first step on; `extra`, which returns more to draw behind them; and `changed`, called with the reader's points.
      With `fixed`, which returns points that nobody moves, the reader's points are the steps that follow these; else the steps follow the reader's.
      Returns {all, svg, values, truth, draw, use, locked}: `use(values, truth)` puts other points there; while locked, none moves. */
  function plot({ facts, lines, extra = () => [], changed, usual = USUAL, fixed = () => [] }) {
    const { steps, largest } = facts, svg = element("svg", { class: "live-plot", role: "group" });
    const behind = element("g"), dots = element("g"), sheet = element("rect", { class: "live-sheet" });
    const all = element("div", { class: "live-canvas" }, svg), own = { all, svg, draw, use, values: [], truth: null, locked: false };
    svg.append(behind, sheet, dots);
    let scale, range = usual, dragging = false;

    function use(values, truth = null) {
      [own.values, own.truth] = [[...values], truth];
      changed(own.values);
    }

    /** From the least to the most that is drawn, in round numbers; `usual` where that is enough. */
    function reach(drawn) {
      const most = drawn.reduce((a, b) => Math.max(a, b)), least = drawn.reduce((a, b) => Math.min(a, b));
      if (least >= usual[0] && most <= usual[1]) return usual;
      const step = round((most - least + 1) / 8);
      return [step * Math.floor(least / step), step * Math.ceil(most / step)];
    }

    function draw() {
      const known = fixed(), F = known.length, N = own.values.length, begun = F || N, last = begun + steps;
      const given = lines(), truth = own.truth ? [["", own.truth.slice(begun), "truth"]] : [];
      if (!dragging) range = reach([...known, ...own.values, ...[...given, ...truth].flatMap(([, values]) => Array.from(values))]);
      const width = Math.max(250, Math.min(720, all.clientWidth)), height = Math.max(250, Math.min(330, 0.5 * width));
      const left = 34, top = 8, bottom = height - 36, right = width - 6, across = (right - left) / last, [low, high] = range;
      const x = (i) => left + (i - 0.5) * across, y = (v) => bottom - ((v - low) / (high - low)) * (bottom - top);
      const path = (from, values) => Array.from(values, (v, i) => `${i ? "L" : "M"}${x(from + i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      scale = {
        left, top, bottom, right, x, y, path, N, F, begun,
        place: (px) => Math.round((px - left) / across + 0.5) - F, value: (py) => low + ((bottom - py) / (bottom - top)) * (high - low),
      };
      set(svg, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": F ? `${F} points of a curve, and ${N} that you move to where it goes on` : `${N} points that you can move, and how the curve goes on` });
      set(sheet, { x: x(F + 0.5), y: top, width: x(F + N + 0.5) - x(F + 0.5), height: bottom - top });
      // A drawing in a drawing cuts off what goes beyond the axes.
      const inside = element("svg", { x: 0, y: top, width, height: bottom - top, viewBox: `0 ${top} ${width} ${bottom - top}` });
      inside.append(...extra(scale), ...[...truth, ...given].map(([, values, kind, late]) =>
        element("path", { class: `live-curve live-${kind}${late ? " live-late" : ""}`, d: path(begun + 1, values) })));
      behind.replaceChildren(...axes(low, high, across), inside, ...known.map((v, i) => element("circle", { class: "live-known", r: 4, cx: x(i + 1), cy: y(v) })), ...names(given));
      while (dots.childNodes.length > N) dots.lastChild.remove();
      while (dots.childNodes.length < N) dots.append(dot(dots.childNodes.length));
      dots.childNodes.forEach((each, i) => set(each, {
        cx: x(F + i + 1), cy: y(own.values[i]), "aria-label": `point at x = ${F + i + 1}`, "aria-valuenow": own.values[i].toFixed(3), "aria-valuetext": shown(own.values[i]),
        "aria-valuemin": Math.min(low, own.values[i]), "aria-valuemax": Math.max(high, own.values[i]),
      }));
    }

    const text = (x, y, said, more = {}) => element("text", { x, y, "text-anchor": "middle", ...more }, said);

    /** Each named line's name above or below its last part, so that two do not meet. */
    function names(given) {
      const named = given.filter(([name]) => name).map(([name, values, kind]) => ({ name, kind, at: scale.y(values[values.length - 1]) - 7 }));
      named.sort((a, b) => a.at - b.at).forEach((each, i) => { each.at = Math.max(each.at, scale.top + 12, i ? named[i - 1].at + 15 : 0); });
      let floor = scale.bottom - 3;
      [...named].reverse().forEach((each) => { each.at = Math.min(each.at, floor); floor = each.at - 15; });
      return named.map(({ name, kind, at }) => text(scale.right - 2, at, name, { "text-anchor": "end", class: `live-word live-${kind}` }));
    }

    function axes(low, high, across) {
      const { left, top, bottom, right, x, y, F, begun } = scale, step = round((high - low) / 8), first = Math.ceil(low / step - 1e-9);
      const ticks = places(first, Math.floor(high / step + 1e-9) + 1).map((count) => step * count), border = x(begun + 0.5);
      const number = (v) => String(Number(v.toPrecision(3))).replace("-", "−");
      return [
        element("rect", { class: "live-given", x: left, y: top, width: border - left, height: bottom - top }),
        ...ticks.map((v) => element("line", { class: "live-rule", x1: left, x2: right, y1: y(v), y2: y(v) })),
        ...ticks.map((v) => text(left - 5, y(v) + 4, number(v), { "text-anchor": "end" })),
        ...places(1, begun + steps + 1).filter((i) => i % (across < 20 ? 4 : 2) === 0).map((i) => text(x(i), bottom + 14, String(i))),
        text((left + border) / 2, bottom + 32, F ? `${F} points` : border - left < 200 ? "your points" : "your points: drag them, or draw"),
        text((border + right) / 2, bottom + 32, F ? "draw how it goes on" : "how it goes on"),
      ];
    }

    // ---------------------------------------------------------------------------------------- moving points

    const dot = (i) => element("circle", {
      class: "live-point", r: 6, tabindex: "0", role: "slider", "aria-orientation": "vertical",
      onkeydown: (event) => nudge(event, i),
    });

    const unit = () => round((range[1] - range[0]) / 50);  // one press of an arrow key

    /** An arrow moves a point a little, Page Up and Page Down more, Home and End all the way. */
    function nudge(event, i) {
      const up = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 }[event.key];
      const to = up ? own.values[i] + up * unit() : { Home: range[0], End: range[1] }[event.key];
      if (own.locked || to === undefined || Math.abs(to) > largest) return;
      event.preventDefault();
      put([[i, to]]);
    }

    /** Give some points new values, in steps that suit the drawing. Nobody knows how such a curve goes on. */
    function put(pairs) {
      const values = [...own.values], fine = unit() / 10;
      for (const [i, v] of pairs) values[i] = Number((fine * Math.round(v / fine)).toPrecision(12));
      use(values);
    }

    /** Press on a point to move it, or beside one to draw through all that the pointer comes past. */
    draggable(svg, (event) => {
      const held = [...dots.childNodes].indexOf(event.target);
      if (dragging || own.locked || (held < 0 && event.target !== sheet)) return null;
      let before = null;
      const move = ({ clientX, clientY }) => {
        const box = svg.getBoundingClientRect(), v = scale.value(Math.max(scale.top, Math.min(scale.bottom, clientY - box.top)));
        const i = Math.max(0, Math.min(scale.N - 1, scale.place(clientX - box.left) - 1));
        if (held >= 0) return put([[held, v]]);
        const [from, was] = before ?? [i, v], way = Math.abs(i - from), side = Math.sign(i - from);
        put(places(0, way + 1).map((k) => [from + side * k, way ? was + ((v - was) * k) / way : v]));  // through those between
        before = [i, v];
      };
      event.preventDefault();
      if (held >= 0) event.target.focus();
      dragging = true;
      if (held < 0) move(event);
      return move;
    }, () => {
      dragging = false;
      draw();
    });
    // Else a finger's second move would scroll the page.
    svg.addEventListener("touchstart", (event) => { if (event.target === sheet || event.target.parentNode === dots) event.preventDefault(); }, { passive: false });
    new ResizeObserver(() => { if (all.clientWidth && own.values.length) draw(); }).observe(all);
    return own;
  }

  /** Runs jobs (generators) of a figure a few milliseconds at a time, so that the page stays quick. A new job stops the one
      before; it begins with the next frame, after `first`. Until it is done, the box is busy. */
  function worker(box, first) {
    let timer, frame;
    return (job) => {
      box.setAttribute("aria-busy", "true");
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => {
        first();
        const begun = job();
        timer = setTimeout(function slice() {
          const end = performance.now() + SLICE;
          while (performance.now() < end) if (begun.next().done) return box.removeAttribute("aria-busy");
          timer = setTimeout(slice);
        });
      });
    };
  }

  /** All steps of a network's continuation, with pauses. */
  function* steady(model, y, steps) {
    const all = [];
    for (const step of goOn(model, y, steps)) {
      if (step) all.push(step);
      yield;
    }
    return all;
  }

  /** What is not needed at first: a list of ready curves, and a field for numbers. */
  function more(facts, drawing, ...others) {
    const says = element("p", { class: "live-note", role: "status" }), typed = field("", 34);
    const take = () => {
      const { values, error } = read(typed.value, facts);
      says.textContent = error ?? "";
      if (values) drawing.use(values);
    };
    return element("details", {}, element("summary", {}, "More"), others, form(take, "Use these", labelled("Values", typed)), says);
  }

  /** A button for every ready curve of these names. */
  const presets = (ready, names, use) => names.map((name) => button(ready[name].title, () => use(ready[name])));

  window.CurvePlot = { plot, curves, worker, steady, more, presets, shown };
})();
