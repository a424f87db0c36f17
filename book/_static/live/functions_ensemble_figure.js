/* The estimates of one relational network, one from each known point, and their spread: <div data-live="functions_ensemble">. */
(function () {
  "use strict";
  const { element, status, network, figure } = Live;
  const { plot, curves, worker, steady, more, presets, shown } = CurvePlot;
  const NAME = "relational", TIMES = 3;  // an error of so many spreads is one that the spread did not announce

  function start(box, parcel) {
    const { facts } = parcel, { steps } = facts, ready = curves(facts);
    const model = Extrapolation.build(network(parcel, NAME), facts.networks[NAME]);
    const now = { answer: null, late: false, lit: -1 }, says = status();

    const drawing = plot({
      facts, extra,
      changed: () => ask(),
      lines: () => (now.answer ? [["median", now.answer.map(({ point }) => point), NAME, now.late]] : []),
    });

    /** A thin line for the estimates that start from each known point, and a band of two spreads on each side of the median. */
    function extra({ N, path, x, y }) {
      if (now.answer?.[0].estimates.length !== N) return [];
      const edge = (sign) => now.answer.map(({ point, spread }) => point + sign * spread), late = now.late ? " live-late" : "";
      const back = edge(-2).map((v, i) => `L${x(N + 1 + i).toFixed(1)} ${y(v).toFixed(1)}`).reverse().join("");
      const line = (_, i) => element("path", {
        class: `live-curve live-estimate${now.lit === i ? " live-lit" : ""}${late}`, d: path(N + 1, now.answer.map(({ estimates }) => estimates[i])),
      });
      return [element("path", { class: `live-band${late}`, d: `${path(N + 1, edge(2))}${back}Z` }), ...drawing.values.map(line)];
    }

    const work = worker(box, () => drawing.draw());

    function ask() {
      now.late = true;
      work(function* () {
        now.answer = yield* steady(model, drawing.values, steps);
        now.late = false;
        drawing.draw();
        tell();
      });
    }

    function tell() {
      const N = drawing.values.length, first = now.answer[0], last = now.answer[steps - 1], { truth } = drawing;
      const overAll = (values) => Math.hypot(...values) / Math.sqrt(steps), spread = overAll(now.answer.map((step) => step.spread));
      const off = truth && overAll(now.answer.map(({ point }, i) => point - truth[N + i]));
      const wrong = off > TIMES * spread ? ": the estimates agree, and they are wrong" : "";
      const verdict = truth ? `Over all ten steps the error is ${shown(off)}, ${(off / spread).toFixed(1)} times the spread${wrong}.` : "Nobody knows how your curve goes on.";
      says.textContent = `Spread is the standard deviation of the estimates: ${shown(first.spread)} for the next point, ${shown(last.spread)} ten steps on. ${verdict}`;
    }

    /** The estimates of the point that a reader's pointer or focus is on. */
    const light = (event) => {
      const at = [...drawing.svg.querySelectorAll(".live-point")].indexOf(event.target);
      now.lit = event.type === "pointerout" || event.type === "focusout" ? -1 : at;
      drawing.svg.querySelectorAll(".live-estimate").forEach((each, i) => each.classList.toggle("live-lit", i === now.lit));
    };
    ["pointerover", "pointerout", "focusin", "focusout"].forEach((kind) => drawing.svg.addEventListener(kind, light));
    const note = "Each thin line is what the network predicts when it starts from one known point; point at a dot to see its line. "
      + "Band: the median and two spreads on either side. Dashed: the true curve.";
    box.append(
      element("div", { class: "live-controls" }, presets(ready, ["sine", "line", "smooth", "parabola"], ({ y, truth }) => drawing.use(y, truth))),
      drawing.all, says, element("p", { class: "live-note" }, note), more(facts, drawing));
    drawing.use(ready.sine.y, ready.sine.truth);
  }

  figure("functions_ensemble", start, ["functions"]);
})();
