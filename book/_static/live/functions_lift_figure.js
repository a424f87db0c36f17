/* A plain and a relational network continue a curve; lift it, and see who moves with it: <div data-live="functions_lift">. */
(function () {
  "use strict";
  const { element, slider, tick, button, status, network, set, figure } = Live;
  const { plot, curves, worker, steady, more, presets, shown } = CurvePlot;
  const TITLES = { one_d: "plain", relational: "relational", one_d_window: "plain, window", relational_window: "relational, window" };

  /** The same network with random weights, as before its training: uniform, of the size 1 / sqrt(inputs). */
  function untrained(net) {
    const random = Arithmetic.uniform(1), isNorm = /norm.*(weight|bias)$/, isWeight = /weight$/;
    return Object.fromEntries(Object.entries(net).map(([key, tensor]) => {
      if (key.startsWith("window")) return [key, tensor];
      const bias = net[key.replace(isWeight, "bias")], inputs = isWeight.test(key) ? tensor.data.length / bias.data.length : Infinity;
      const draw = isNorm.test(key) ? () => (isWeight.test(key) ? 1 : 0) : () => (2 * random() - 1) / Math.sqrt(inputs);
      return [key, { ...tensor, data: Float32Array.from(tensor.data, draw) }];
    }));
  }

  function start(box, parcel) {
    const { facts } = parcel, { steps } = facts, ready = curves(facts), known = new Map();
    const made = (change) => Object.fromEntries(Object.keys(TITLES).map((name) => [name, Extrapolation.build(change(network(parcel, name)), facts.networks[name])]));
    const trained = made((net) => net);
    let random; // made when somebody asks for it
    const now = { models: trained, lift: 0, wanted: ["one_d", "relational"], results: {}, done: false };
    const says = status(), numbers = element("tbody");
    const lifted = (values) => values.map((v) => v + now.lift);

    const drawing = plot({
      facts, usual: [-3, 8],
      changed: (values) => { [now.base, now.truth] = [values, drawing.truth].map((each) => each?.map((v) => v - now.lift)); ask(); },
      lines: () => now.wanted.filter((name) => now.results[name]).flatMap((name) => {
        const { before, after, late } = now.results[name];
        const ghost = now.lift && now.done ? [["", before, `ghost live-${name}`, late]] : [];
        return [...ghost, [TITLES[name], after, name, late]];
      }),
    });

    function* answer(name, y) {
      const { models } = now, key = [name, models === trained, ...y].join();
      if (!known.has(key)) {
        if (known.size > 60) known.clear();
        known.set(key, (yield* steady(models[name], y, steps)).map(({ point }) => point));
      }
      return known.get(key);
    }

    const work = worker(box, () => drawing.draw());

    /** Ask the networks about the curve as it is, and about the curve as it was before it was lifted. */
    function ask() {
      now.done = false;
      Object.values(now.results).forEach((each) => { each.late = true; });
      work(function* () {
        for (const name of now.wanted) {
          const after = yield* answer(name, drawing.values), before = now.lift ? yield* answer(name, now.base) : after;
          now.results[name] = { after, before };
          drawing.draw();
        }
        now.done = true;
        drawing.draw();
        tell();
      });
    }

    /** Put a curve there, without the lift that it had. */
    function use({ y, truth }) {
      now.lift = 0;
      now.results = {};
      control.querySelector("input").value = 0;
      control.querySelector("output").textContent = shown(0);
      drawing.use(y, truth);
    }

    function lift(to) {
      const { base, truth } = now;
      now.lift = to;
      drawing.use(lifted(base), truth && lifted(truth));
    }

    function tell() {
      const end = (values) => shown(values[steps - 1]), movedBy = ({ before, after }) => after.map((v, i) => v - before[i]);
      const span = (by) => {
        const [least, most] = [Math.min(...by), Math.max(...by)].map(shown);
        return least === most ? `by exactly ${least} at every step` : `by ${least} to ${most}`;
      };
      const all = now.wanted.map((name) => [name, now.results[name]]);
      says.textContent = now.lift
        ? `You moved the curve by ${shown(now.lift)}. ${all.map(([name, each]) => `The ${TITLES[name]} network moved ${span(movedBy(each))}`).join(". ")}.`
        : `Ten steps on: ${all.map(([name, { after }]) => `${TITLES[name]} ${end(after)}`).join(", ")}. Now lift the curve.`;
      numbers.replaceChildren(...all.map(([name, each]) => element("tr", { "data-row": name }, element("th", { scope: "row" }, TITLES[name]),
        each.after.map((v) => element("td", {}, shown(v))))));
    }

    const control = slider("Lift", { min: -5, max: 5, step: 0.1, value: 0, shown }, lift);
    const fresh = (on) => { now.models = on ? (random ??= made(untrained)) : trained; ask(); };
    const windows = (on) => { now.wanted = Object.keys(TITLES).slice(0, on ? 4 : 2); ask(); };
    const head = element("tr", {}, element("th", { scope: "col" }, "network"), ...Array.from({ length: steps }, (_, i) => element("th", { scope: "col" }, `+${i + 1}`)));
    const table = element("table", { class: "live-numbers" }, element("thead", {}, head), numbers);
    box.append(
      element("div", { class: "live-controls" }, button("Lift by 5", () => set(control, 5)), presets(ready, ["step", "line", "sine"], use),
        tick("untrained networks (random weights)", fresh)),
      element("div", { class: "live-controls" }, control), drawing.all,
      element("p", { class: "live-note" }, "Dashed: how the curve goes on without noise. Dotted: what the networks predicted before the lift."), says,
      more(facts, drawing, element("div", { class: "live-controls" }, presets(ready, ["smooth", "parabola"], use),
        tick("also the two networks with a window", windows)), Live.scroller("The next values", table)));
    use(ready.line);
  }

  figure("functions_lift", start, ["functions"]);
})();
