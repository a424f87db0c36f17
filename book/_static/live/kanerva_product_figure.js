/* What two machines say of one number, each alone and together, and how an item moves them: <div data-live="kanerva_product">. */
(function () {
  "use strict";
  const { element, slider, set, button, status, draggable, under, decimals: shown, figure } = Live;
  const { sum, dot } = Arithmetic;
  const LOW = -4, HIGH = 7, FINE = 0.05, ITEM = 2; // ITEM: its place after those of the machines
  const LARGE = { width: 380, base: 130, rise: 140, height: 174 }, SMALL = { width: 260, base: 100, rise: 108, height: 122 };
  const RULES = [["By Bayes’ rule", false], ["By the paper’s rule", true]];

  const normal = (x, mean, sd) => Math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * Math.sqrt(2 * Math.PI));
  const mixture = (x, R, eta) => sum(R.map((mean, i) => normal(x, mean, eta[i]))) / R.length;

  /** The product of the opinions: gamma_i = eta_i^-2 / sum_j eta_j^-2, the mean, and the standard deviation. */
  function product(R, eta) {
    const precision = eta.map((v) => v ** -2), total = sum(precision), gamma = precision.map((v) => v / total);
    return { gamma, mean: dot(gamma, R), sd: total ** -0.5 };
  }

  /** R_i and V_i after an item was written so often: by the error of each machine, or by the one that all share. Addresses are 1. */
  function write(R, V, eta, item, times, shared) {
    for (let n = 0; n < times; n++) {
      const mean = product(R, eta).mean, gain = V.map((v, i) => v / (v + eta[i] ** 2));
      R = R.map((r, i) => r + gain[i] * (item - (shared ? mean : r)));
      V = V.map((v, i) => v * (1 - gain[i]));
    }
    return { R, V };
  }

  const across = ({ width }, x) => 10 + ((x - LOW) / (HIGH - LOW)) * (width - 20);

  /** A density as the path of a curve. */
  function path(size, density) {
    const xs = Array.from({ length: 276 }, (_, i) => LOW + ((HIGH - LOW) * i) / 275);
    return "M" + xs.map((x) => `${across(size, x).toFixed(1)} ${(size.base - size.rise * density(x)).toFixed(1)}`).join("L");
  }

  const own = (i) => `live-machine-${i + 1}`;
  const stroke = (color, width, dash = "none") => `fill: none; stroke: ${color}; stroke-width: ${width}; stroke-dasharray: ${dash}`;
  const curve = (style, machine, d = "") => element("path", { d, style, class: machine === undefined ? null : own(machine) });
  const LOOKS = { own: stroke("var(--own)", 2), before: stroke("var(--own)", 1.2, "2 3"), product: stroke("currentcolor", 3), mixture: stroke("currentcolor", 1.5, "6 4"), faint: stroke("currentcolor", 1.2, "2 3"), item: stroke("currentcolor", 1.2, "1 3") };

  /** The axis with its numbers. */
  function axis(size) {
    const ticks = [-2, 0, 2, 4, 6].map((v) => element("text", { x: across(size, v), y: size.base + 15, "text-anchor": "middle", "font-size": 12 }, String(v).replace("-", "−")));
    return [element("line", { x1: 10, x2: size.width - 10, y1: size.base, y2: size.base, style: stroke("var(--live-line)", 1) }), ...ticks];
  }

  const upright = (size, x) => ({ x1: across(size, x), x2: across(size, x), y1: 4, y2: size.base });

  /** The machines after writing, with what they said before. */
  function after(R, now) {
    const { eta, places } = now, both = product(R, eta);
    const lines = R.flatMap((mean, i) => [curve(LOOKS.before, i, path(SMALL, (x) => normal(x, places[i], eta[i]))), curve(LOOKS.own, i, path(SMALL, (x) => normal(x, mean, eta[i])))]);
    const label = `Machine 1 at ${shown(R[0])}, machine 2 at ${shown(R[1])}, their product at ${shown(both.mean)}`;
    return element("svg", { viewBox: `0 0 ${SMALL.width} ${SMALL.height}`, role: "img", "aria-label": label, style: "width: 100%" },
      axis(SMALL), element("line", { ...upright(SMALL, places[ITEM]), style: LOOKS.item }), lines, curve(LOOKS.product, undefined, path(SMALL, (x) => normal(x, both.mean, both.sd))));
  }

  function start(box, { facts: { means, eta, item, variance } }) {
    const begin = () => ({ places: [...means, item], eta: [...eta], times: 0 }), now = begin(), says = status();
    const opinions = means.map((_, i) => curve(LOOKS.own, i)), whole = curve(LOOKS.product), mixed = curve(LOOKS.mixture), rule = element("line", { style: LOOKS.item });
    const grips = means.map((_, i) => curve(`${stroke("transparent", 18)}; display: block`));
    const handles = [...means, item].map((_, i) => element("g", { role: "slider", tabindex: 0, "aria-label": i === ITEM ? "The item" : `The answer of machine ${i + 1}`, "aria-valuemin": LOW + 1, "aria-valuemax": HIGH - 1, style: "display: block" },
      element("circle", { r: 10, class: i === ITEM ? null : own(i), style: `fill: var(--pst-color-background); stroke: ${i === ITEM ? "currentcolor" : "var(--own)"}; stroke-width: 2` }),
      element("text", { "text-anchor": "middle", dy: "0.35em", "font-size": 13 }, i === ITEM ? "z" : `${i + 1}`)));
    const svg = element("svg", { viewBox: `0 0 ${LARGE.width} ${LARGE.height}`, role: "group", "aria-label": "Opinions of two machines; arrow keys move them and the item", style: "width: 100%; max-width: 32rem" },
      axis(LARGE), rule, mixed, opinions, whole, grips, handles);
    const results = RULES.map(() => element("div", { style: "flex: 1 1 14rem; min-width: 0; max-width: 19rem" }));

    function draw() {
      const R = now.places.slice(0, ITEM), both = product(R, now.eta);
      const peaks = R.map((mean, i) => [across(LARGE, mean), LARGE.base - LARGE.rise * normal(0, 0, now.eta[i]) - 12]);
      const near = Math.hypot(peaks[1][0] - peaks[0][0], peaks[1][1] - peaks[0][1]) < 22, way = peaks[0][0] > peaks[1][0] ? -11 : 11;
      const spots = [...peaks.map(([x, y], i) => [near ? (peaks[0][0] + peaks[1][0]) / 2 + (i ? way : -way) : x, y]), [across(LARGE, now.places[ITEM]), LARGE.base + 32]];
      handles.forEach((mark, i) => {
        mark.setAttribute("transform", `translate(${spots[i].join(" ")})`);
        mark.setAttribute("aria-valuenow", shown(now.places[i]).replace("−", "-"));
      });
      R.forEach((mean, i) => [opinions[i], grips[i]].forEach((line) => line.setAttribute("d", path(LARGE, (x) => normal(x, mean, now.eta[i])))));
      whole.setAttribute("d", path(LARGE, (x) => normal(x, both.mean, both.sd)));
      mixed.setAttribute("d", path(LARGE, (x) => mixture(x, R, now.eta)));
      for (const [key, value] of Object.entries(upright(LARGE, now.places[ITEM]))) rule.setAttribute(key, value);
      const ends = RULES.map(([, shared]) => write(R, R.map(() => variance), now.eta, now.places[ITEM], now.times, shared).R);
      results.forEach((each, i) => each.replaceChildren(element("strong", {}, RULES[i][0]), after(ends[i], now)));
      const [bayes, paper] = ends.map((end) => `${shown(end[0])} and ${shown(end[1])}`);
      const weights = both.gamma.map((v) => shown(v)).join(" and ");
      says.textContent = `Weights ${weights}; ${now.times ? "before writing, " : ""}the product answers ${shown(both.mean)}. ` + (now.times === 0 ? "Nothing is written yet."
        : `Written ${now.times === 1 ? "once" : `${now.times} times`}: Bayes’ rule puts the machines at ${bayes}, the paper’s rule at ${paper}.${bayes === paper ? " The two rules agree." : ""}`);
    }

    /** Move a machine's answer, or the item, to the nearest step. */
    function move(i, value) {
      now.places[i] = Math.round(Math.min(HIGH - 1, Math.max(LOW + 1, value)) / FINE) * FINE;
      draw();
    }

    /** Let a pointer drag place `i` by this mark. */
    function drag(mark, i) {
      const at = (event) => LOW + ((under(svg, event)[0] - 10) / (LARGE.width - 20)) * (HIGH - LOW);
      mark.classList.add("live-point");
      draggable(mark, (event) => {
        const grip = now.places[i] - at(event); // from the pointer to the place
        return (later) => move(i, at(later) + grip);
      });
    }

    handles.forEach((mark, i) => {
      drag(mark, i);
      mark.addEventListener("keydown", (event) => {
        const way = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
        if (!way) return;
        event.preventDefault();
        move(i, now.places[i] + way * (event.shiftKey ? 10 : 1) * FINE);
      });
    });
    grips.forEach(drag);

    const heat = (v) => Number((10 ** v).toPrecision(2));
    const noises = eta.map((v, i) => slider(`Noise of machine ${i + 1}`, { min: -0.15, max: 1.3, step: 0.05, value: Math.log10(v), shown: (u) => `η = ${heat(u)}` }, (u) => { now.eta[i] = heat(u); draw(); }));
    const back = () => { Object.assign(now, begin()); noises.forEach((each, i) => set(each, Math.log10(eta[i]))); draw(); };
    const swatch = (style, words, machine) => element("span", {}, element("svg", { viewBox: "0 0 26 10", "aria-hidden": "true", style: "width: 1.7rem" }, curve(style, machine, "M1 5H25")), ` ${words}`);
    box.append(
      element("p", { class: "live-note" }, "Drag a curve or the item z, or use the arrow keys."),
      element("div", { class: "live-controls" }, noises), svg,
      element("p", { class: "live-legend" }, swatch(LOOKS.own, "machine 1", 0), swatch(LOOKS.own, "machine 2", 1), swatch(LOOKS.product, "product"), swatch(LOOKS.mixture, "mixture"), swatch(LOOKS.faint, "before writing")),
      element("div", { class: "live-examples" }, button("Write the item", () => { now.times += 1; draw(); }), button("Forget the item", () => { now.times = 0; draw(); }), button("Put everything back", back)),
      says, element("div", { class: "live-columns" }, results));
    draw();
  }

  window.KanervaProductFigure = { product, mixture, normal, write };
  figure("kanerva_product", start);
})();
