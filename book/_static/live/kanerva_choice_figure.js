/* A choice among three machines, soft or hard, and the slope that it learns by: <div data-live="kanerva_choice">. */
(function () {
  "use strict";
  const { element, slider, tick, choice, status, decimals, figure } = Live;
  const { rows, argmax, sum, dot, softmax } = Arithmetic;
  const CORNERS = [[20, 190], [220, 190], [120, 17]];
  const SCALES = { linear: { unit: 70, ticks: [-1, 0, 1], lines: true }, curved: { unit: 5, ticks: [-15, 0, 15], lines: false } };

  /** softmax((log p + g) / tau). */
  const soft = (p, g, tau) => softmax(p.map((v, i) => (Math.log(v) + g[i]) / tau));

  /** 1 at the largest, 0 elsewhere. */
  const hard = (gamma) => gamma.map((_, i) => Number(i === argmax(gamma)));

  /** The slope of a choice's cost along each logit, through the soft weights: of the soft choice and of straight-through. */
  function slope(gamma, costs, tau) {
    const mean = dot(gamma, costs);
    return gamma.map((v, i) => (v / tau) * (costs[i] - mean));
  }

  /** What each machine costs more, at the weights that are used, of a cost that curves: exp(rate times the answer). */
  const marginal = (weights, { answers, rate }) => answers.map((y) => y * rate * Math.exp(rate * dot(weights, answers)));

  /** What many draws give: the weights that are used, and mean and standard deviation of the slopes. */
  function draws(noise, p, costs, tau, through, curve = null) {
    const gammas = noise.map((g) => soft(p, g, tau));
    const slopes = gammas.map((gamma) => slope(gamma, curve ? marginal(through ? hard(gamma) : gamma, curve) : costs, tau));
    const column = (i) => slopes.map((each) => each[i]), average = (v) => sum(v) / v.length;
    const mean = p.map((_, i) => average(column(i)));
    const sd = p.map((_, i) => Math.sqrt(sum(column(i).map((v) => (v - mean[i]) ** 2)) / (slopes.length - 1)));
    return { used: through ? gammas.map(hard) : gammas, mean, sd };
  }

  const exactly = (p, costs) => slope(p, costs, 1);
  const own = (i) => `live-machine-${i + 1}`;

  /** The triangle of choices: each draw a dot, in a circle around its corner if many are there. */
  function triangle(used) {
    const place = (gamma, at) => {
      const turn = 2.4 * at, away = Math.max(...gamma) === 1 ? 0.8 * Math.sqrt(at) : 0;
      return [0, 1].map((k) => gamma.reduce((sum, v, i) => sum + v * CORNERS[i][k], 0) + away * (k ? Math.sin(turn) : Math.cos(turn)));
    };
    const dots = used.map((gamma, at) => {
      const [x, y] = place(gamma, at);
      return element("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: 2.2, class: own(argmax(gamma)), style: "fill: var(--own); fill-opacity: .45" });
    });
    const names = CORNERS.map(([x, y], i) => element("text", { x: x + (i === 2 ? 26 : 0), y: y + (i === 2 ? 4 : 36), "text-anchor": "middle", "font-size": 15 }, `${i + 1}`));
    const counts = CORNERS.map((_, i) => used.filter((gamma) => argmax(gamma) === i).length);
    const label = `Triangle of choices: machines 1 to 3 have the largest weight in ${counts.join(", ")} of ${used.length} draws`;
    return element("svg", { viewBox: "0 0 240 232", role: "img", "aria-label": label, style: "width: 100%" },
      element("polygon", { points: CORNERS.join(" "), style: "fill: none; stroke: var(--live-line)" }), dots, names);
  }

  /** Bars of the mean slopes, with a line of one standard deviation to each side where it fits, and the exact ones as diamonds.
      At the lowest temperature a line of the linear cost ends at 1.33; 1.4 fits. */
  function bars({ mean, sd }, exact, { unit, ticks: marked, lines }) {
    const y = (v) => 100 - unit * v, x = (i) => 70 + 60 * i;
    const line = (x1, y1, x2, y2, width = 1.5) => element("line", { x1, y1, x2, y2, style: `stroke: currentcolor; stroke-width: ${width}` });
    const marks = mean.flatMap((v, i) => [
      element("rect", { x: x(i) - 17, width: 34, y: Math.min(y(v), y(0)), height: Math.abs(y(v) - y(0)), class: own(i), style: "fill: var(--own)" }),
      lines ? line(x(i), y(v - sd[i]), x(i), y(v + sd[i])) : null,
      element("path", { d: `M${x(i)} ${y(exact[i]) - 6}l6 6l-6 6l-6 -6z`, style: "fill: var(--pst-color-background); stroke: currentcolor; stroke-width: 1.5" }),
      element("text", { x: x(i), y: 226, "text-anchor": "middle", "font-size": 15 }, `${i + 1}`),
    ]);
    const ticks = marked.map((v) => element("text", { x: 30, y: y(v) + 4, "text-anchor": "end", "font-size": 15 }, String(v).replace("-", "−")));
    const said = mean.map((v, i) => `machine ${i + 1} ${v.toFixed(2)}, exact ${exact[i].toFixed(2)}`).join("; ");
    return element("svg", { viewBox: "0 0 240 232", role: "img", "aria-label": `Slopes of the cost: ${said}`, style: "width: 100%" },
      line(36, y(0), 220, y(0), 1), marks, ticks);
  }

  function start(box, { tensors, facts: { p, costs, curve } }) {
    const noise = rows(tensors.gumbel).map((g) => Array.from(g)), says = status();
    const exactOf = { linear: exactly(p, costs), curved: exactly(p, curve.answers.map((v) => Math.exp(curve.rate * v))) };
    const now = { tau: 1, through: false, cost: "linear" }, half = { style: "flex: 1 1 0; min-width: 0; max-width: 16rem" };
    const left = element("div", half), right = element("div", half);

    function draw() {
      const found = draws(noise, p, costs, now.tau, now.through, now.cost === "curved" ? curve : null), exact = exactOf[now.cost];
      left.replaceChildren(triangle(found.used));
      right.replaceChildren(bars(found, exact, SCALES[now.cost]));
      const kind = now.through ? "The choice is hard, its gradient soft." : "The choice is soft.";
      says.textContent = `${kind} The slope of machine 2 is ${decimals(found.mean[1])} on average, exactly ${decimals(exact[1])}; `
        + `a single draw varies by ${decimals(found.sd[1])}.`;
    }

    const heat = (v) => Number((10 ** v).toPrecision(2));
    box.append(
      element("div", { class: "live-controls" },
        slider("Temperature", { min: -1, max: 0.7, step: 0.05, value: 0, shown: (v) => `τ = ${heat(v)}` }, (v) => { now.tau = heat(v); draw(); }),
        tick("straight-through", (on) => { now.through = on; draw(); }),
        choice("Cost", [["linear", "linear"], ["curved", "curved"]], now.cost, (name) => { now.cost = name; draw(); })),
      element("p", { class: "live-note" }, `Left: ${noise.length} choices; a corner is a machine, and draws that are on it are spread around it. Right: the slope of the cost along each machine's logit. `
        + "Bars: the mean; lines (linear cost only): one standard deviation of a single draw; diamonds: the exact slope."),
      element("div", { class: "live-columns" }, left, right), says);
    draw();
  }

  window.KanervaChoiceFigure = { draws };
  figure("kanerva_choice", start);
})();
