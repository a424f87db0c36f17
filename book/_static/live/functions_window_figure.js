/* Another length of a network's attention window: what it attends to, and where it continues: <div data-live="functions_window">. */
(function () {
  "use strict";
  const { element, choice, slider, button, status, network, set, figure } = Live;
  const { build, windowOf, logFactor, attentionTo } = Extrapolation;
  const { plot, curves, worker, steady, more, presets, shown } = CurvePlot;
  const NETWORKS = [["relational_window", "relational"], ["one_d_window", "plain"]], NEAR = 3;

  function start(box, parcel) {
    const { facts } = parcel, { steps } = facts, ready = curves(facts), own = {};
    const now = { name: NETWORKS[0][0], point: null, attention: null, late: false };
    for (const [name] of NETWORKS) {
      const net = network(parcel, name), { a, b } = windowOf(net);
      own[name] = { net, length: Number((a * b).toFixed(1)) };
    }
    now.length = own[now.name].length;
    const says = status(), note = element("p", { class: "live-note" });

    const kind = () => now.name.split("_window")[0];
    const drawing = plot({
      facts, extra,
      changed: () => ask(),
      lines: () => (now.point ? [[NETWORKS.find(([name]) => name === now.name)[1], now.point, kind(), now.late]] : []),
    });

    /** The window as a shade over the points that it lets through, and a bar for the attention to each. */
    function extra({ x, path, top, bottom, N, y }) {
      const log = logFactor(own[now.name].net, now.length), high = (v) => bottom - v * (bottom - top);
      const edge = Array.from({ length: N }, (_, i) => `L${x(i + 1).toFixed(1)} ${high(Math.exp(log(N - i))).toFixed(1)}`).join("");
      const shade = element("path", { class: "live-window", d: `M${x(1)} ${bottom}${edge}L${x(N)} ${bottom}Z` });
      const bar = (w, i) => element("line", { class: `live-attention live-${kind()}`, x1: x(i + 1), x2: x(i + 1), y1: bottom, y2: high(w) });
      const word = (height, said) => element("text", { x: x(N + 0.5) + 3, y: height, class: `live-word live-${kind()}` }, said);
      return [shade, ...Array.from(now.attention ?? [], bar), word(top + 12, "← bars: 1"), word(bottom - 4, "← 0")];
    }

    const work = worker(box, () => drawing.draw());

    function ask() {
      const model = build(own[now.name].net, facts.networks[now.name], now.length);
      now.late = true;
      work(function* () {
        now.attention = attentionTo(model, drawing.values);
        drawing.draw();
        yield;
        now.point = (yield* steady(model, drawing.values, steps)).map(({ point }) => point);
        now.late = false;
        drawing.draw();
        tell();
      });
    }

    function tell() {
      const N = drawing.values.length, sum = (some) => some.reduce((a, b) => a + b), points = now.attention.slice(0, N);
      const trained = own[now.name].length, how = now.length === trained ? "as trained" : `trained with ${trained}`;
      const { truth } = drawing, off = truth && Math.sqrt(now.point.reduce((sum, v, i) => sum + (v - truth[N + i]) ** 2, 0) / steps);
      says.textContent = `Window of ${now.length} ${now.length === 1 ? "step" : "steps"} (${how}): ${Math.round((100 * sum(points.slice(-NEAR))) / sum(points))}\u00a0% of the attention to points is on the last ${NEAR}. `
        + `Ten steps on it predicts ${shown(now.point[steps - 1])}${truth ? `; over all ten steps the error is ${shown(off)}` : ""}.`;
      note.textContent = "Shade: what the window lets through. Bars: attention, a mean over layers, heads and queries"
        + `${now.attention[N] ? `; at x = ${N + 1}, attention to the queries themselves` : ""}. Their scale is the one beside them, from 0 to 1.`
        + `${truth ? " Dashed: the true curve; error: root mean square." : ""}`;
    }

    const control = slider("Window length", { min: 1, max: 20, step: 0.1, value: now.length, shown: (v) => `${v} steps` }, (v) => { now.length = v; ask(); });
    const which = choice("Network", NETWORKS, now.name, (name) => { now.name = name; now.point = null; set(control, own[name].length); });
    box.append(
      element("div", { class: "live-controls" }, control, button("As trained", () => set(control, own[now.name].length))),
      element("div", { class: "live-controls" }, presets(ready, ["sine", "line", "smooth", "step"], ({ y, truth }) => drawing.use(y, truth)), which),
      drawing.all, says, note, more(facts, drawing));
    drawing.use(ready.sine.y, ready.sine.truth);
  }

  figure("functions_window", start, ["functions"]);
})();
