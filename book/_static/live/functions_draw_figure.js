/* Draw how a curve goes on, and see how two simple rules and a trained network continue it: <div data-live="functions_draw">. */
(function () {
  "use strict";
  const { element, button, status, network, figure } = Live;
  const { sum, dot } = Arithmetic;
  const { plot, worker, shown } = CurvePlot;
  const NAME = "one_d", RIDGE = 0.1, CLIP = 3; // as in mini_lib/functions/baselines.py
  const PLAYERS = { you: "you", ols: "fitted line", ar: "two weights", one_d: "transformer" };
  const KINDS = { lin: "a line", sine: "a sinusoid", rbf: "a random smooth curve" };

  /** Least squares with an intercept. */
  function fittedLine(y, steps) {
    const x = y.map((_, i) => i - (y.length - 1) / 2), level = sum(y) / y.length, slope = dot(x, y) / dot(x, x);
    return Array.from({ length: steps }, (_, i) => level + slope * ((y.length + 1) / 2 + i));
  }

  /** f(i) = w1 f(i - 1) + w2 f(i - 2): ridge regression on the curve's own points, then steps within CLIP times the largest. */
  function twoWeights(y, steps) {
    const value = y.slice(2), last = y.slice(1, -1), before = y.slice(0, -2), all = [...y];
    const a = dot(last, last) + RIDGE, b = dot(last, before), c = dot(before, before) + RIDGE, [p, q] = [dot(last, value), dot(before, value)];
    const size = a * c - b * b, w1 = (c * p - b * q) / size, w2 = (a * q - b * p) / size, most = CLIP * Math.max(...y.map(Math.abs));
    while (all.length < y.length + steps) all.push(Math.max(-most, Math.min(most, w1 * all.at(-1) + w2 * all.at(-2))));
    return all.slice(y.length);
  }

  /** A network whose context slides: it always receives the last N points, its own predictions among them. Yields pauses. */
  function* slide(model, y, steps) {
    const all = [...y];
    while (all.length < y.length + steps) {
      for (const step of Extrapolation.goOn(model, all.slice(-y.length), 1)) {
        if (step) all.push(step.point);
        yield;
      }
    }
    return all.slice(y.length);
  }

  function start(box, parcel) {
    const { facts } = parcel, { steps, problems } = facts, N = facts.observed, names = Object.keys(PLAYERS);
    const model = Extrapolation.build(network(parcel, NAME), facts.networks[NAME]);
    const wins = Object.fromEntries(names.map((name) => [name, 0])), says = status(), rows = element("tbody");
    const now = { at: -1, answers: null, errors: null };
    const seen = () => problems[now.at].y.slice(0, N), tail = () => problems[now.at].truth.slice(N);

    /** On a phone the colors of the table have to do. */
    const named = (name) => (drawing.all.clientWidth > 500 && name !== "you" ? PLAYERS[name] : "");

    const drawing = plot({
      facts, fixed: seen,
      changed: () => drawing.draw(),
      lines: () => (now.answers ? names.map((name) => [named(name), now.answers[name], name]) : [["", drawing.values, "you"]]),
    });
    const work = worker(box, () => drawing.draw());

    function deal() {
      now.at = (now.at + 1) % problems.length;
      Object.assign(now, { answers: null, errors: null });
      drawing.locked = show.disabled = false;
      drawing.use(Array(steps).fill(0));
      tell();
    }

    /** The truth, and everybody's continuation of the twelve points. */
    function reveal() {
      drawing.locked = show.disabled = again.disabled = true;
      work(function* () {
        const y = seen(), one_d = yield* slide(model, y, steps), truth = tail();
        now.answers = { you: drawing.values, ols: fittedLine(y, steps), ar: twoWeights(y, steps), one_d };
        now.errors = Object.fromEntries(names.map((name) => [name, sum(now.answers[name].map((v, i) => (v - truth[i]) ** 2)) / steps]));
        wins[names.reduce((best, name) => (now.errors[name] < now.errors[best] ? name : best))] += 1;
        drawing.use(drawing.values, problems[now.at].truth);
        tell();
        again.disabled = false;
        again.focus({ preventScroll: true });
      });
    }

    function tell() {
      const { errors } = now, best = errors && Math.min(...Object.values(errors));
      rows.replaceChildren(...names.map((name) => element("tr", { "data-row": name }, element("th", { scope: "row", class: `live-name live-${name}` }, PLAYERS[name]),
        element("td", { class: errors && errors[name] === best ? "live-best" : null }, errors ? shown(errors[name]) : "–"), element("td", {}, String(wins[name])))));
      if (!errors) {
        says.textContent = `Curve ${now.at + 1}: where are its next ten points? Draw them in the right half, then press Show.`;
        return;
      }
      const first = names.find((name) => errors[name] === best), who = first === "you" ? "You were" : `The ${first === "ar" ? "rule of two weights" : PLAYERS[first]} was`;
      says.textContent = `It was ${KINDS[problems[now.at].kind]}. ${who} closest, with an error of ${shown(best)}${first === "you" ? "" : `; yours is ${shown(errors.you)}`}.`;
    }

    const show = button("Show", reveal), again = button("New curve", deal);
    const heads = ["predictor", "error", "closest so far"].map((word) => element("th", { scope: "col" }, word));
    box.append(says, drawing.all, element("div", { class: "live-controls" }, show, again),
      element("table", { class: "live-numbers live-score" }, element("thead", {}, element("tr", {}, heads)), rows),
      element("p", { class: "live-note" }, "Drag with the mouse or a finger, or choose a point with Tab and move it with the arrow keys. Error: mean squared distance from the true curve (dashed) over the ten points."));
    deal();
  }

  window.Continuation = { fittedLine, twoWeights, slide };
  figure("functions_draw", start, ["functions"]);
})();
