/* The networks that go on with a curve, ready curves, and a Gaussian process. Symbols as in mini_lib/functions: y_i is
   observed at x = i; a token is its places and its value; z_i is the answer to query i. */
(function () {
  "use strict";
  const { linear, add, uniform, cholesky, forward, backward } = Arithmetic;

  const softplus = (v) => (v > 20 ? v : Math.log1p(Math.exp(v)));

  /** tanh's approximation of GELU. */
  const gelu = (x) => x.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v * v * v))));

  /** The layer normalisation `name` of a network. */
  function norm(net, name, x) {
    const gain = net[name + ".weight"].data, shift = net[name + ".bias"].data;
    const mean = x.reduce((s, v) => s + v, 0) / x.length, variance = x.reduce((s, v) => s + (v - mean) ** 2, 0) / x.length;
    const size = 1 / Math.sqrt(variance + 1e-5);
    return x.map((v, i) => (v - mean) * size * gain[i] + shift[i]);
  }

  /** A network ready to answer: {axes, heads, scale, strict, observed} as its parcel says, and its tensors. */
  function build(net, { axes, heads, scale, strict, observed }) {
    let layers = 0;
    while (net[`transformer.blocks.${layers}.qkv.weight`]) layers += 1;
    return { net, relational: axes === 2, heads, scale, layers, observed, nearest: strict ? 1 : 0, logFactor: logFactor(net) };
  }

  /** log F(d): what the window adds to the scores at distance d. */
  function logFactor(net) {
    if (!net["window.log_a"]) return () => 0;
    const [a, b] = ["log_a", "log_b"].map((name) => Math.exp(net["window.rate"].data[0] * net[`window.${name}`].data[0]));
    const known = [];
    return (d) => (known[d] ??= softplus(-a) - softplus(d / b - a));
  }

  const upTo = (n) => Array.from({ length: n }, (_, i) => i + 1);
  const empty = ({ layers }) => ({ places: [], layers: Array.from({ length: layers }, () => ({ k: [], v: [] })) });

  /** Take in observation j: what each layer keeps of its tokens joins `kept`. */
  function observe(model, kept, y, j) {
    const places = model.relational ? upTo(j - 1).map((i) => [i, j]) : [[j]];
    const values = model.relational ? places.map(([i]) => y[j - 1] - y[i - 1]) : [y[j - 1]];
    pass(model, kept, places, values, true);
  }

  /** The answers to the queries about place `following`; nothing of a query is kept. */
  function ask(model, kept, following) {
    const places = model.relational ? upTo(following).map((i) => [i, following]) : [[following]];
    return pass(model, kept, places, places.map(() => 0), false);
  }

  /** Tokens through all blocks: answers, one a token; or, to `keep`, their keys and values in `kept`. */
  function pass(model, kept, places, values, keep) {
    const { net, heads, scale, layers } = model, all = [...kept.places, ...places];
    const seen = places.map((place) => looks(model, place, all));
    let x = places.map((place, t) => linear(net, "read_in", Float32Array.from([...place.map((at) => scale * at), values[t]])));
    for (let layer = 0; layer < layers; layer++) {
      const name = `transformer.blocks.${layer}.`, D = x[0]?.length;
      const qkv = x.map((token) => linear(net, name + "qkv", norm(net, name + "norm_attention", token)));
      const k = [...kept.layers[layer].k, ...qkv.map((each) => each.subarray(D, 2 * D))];
      const v = [...kept.layers[layer].v, ...qkv.map((each) => each.subarray(2 * D))];
      if (keep) kept.layers[layer] = { k, v };
      if (keep && layer === layers - 1) break;                        // of the last block only keys and values count
      x = x.map((token, t) => {
        const read = add(token, linear(net, name + "out_proj", attend(qkv[t], k, v, seen[t], D, heads)));
        return add(read, linear(net, name + "down", gelu(linear(net, name + "up", norm(net, name + "norm_perceptron", read)))));
      });
    }
    if (keep) kept.places = all;
    return keep ? [] : x.map((token) => linear(net, "read_out", norm(net, "transformer.final_norm", token))[0]);
  }

  /** What a token sees: tokens before it on every axis, and where the mask is not strict at its own place too; with the
      window's share of each score. */
  function looks({ logFactor: log, nearest }, place, all) {
    const at = [], bias = [];
    for (let t = 0; t < all.length; t++) {
      let share = 0, before = true;
      for (let axis = 0; axis < place.length && before; axis++) {
        const distance = place[axis] - all[t][axis];
        before = distance >= nearest;
        if (before) share += log(distance);
      }
      if (!before) continue;
      at.push(t);
      bias.push(share);
    }
    return { at, bias };
  }

  /** What attention reads for the query q, head by head. */
  function attend(q, k, v, { at, bias }, D, heads) {
    const E = D / heads, y = new Float32Array(D), w = new Float32Array(at.length);
    for (let from = 0; from < D; from += E) {
      let top = -Infinity, total = 0;
      for (let n = 0; n < at.length; n++) {
        const key = k[at[n]];
        let score = 0;
        for (let e = from; e < from + E; e++) score += q[e] * key[e];
        w[n] = score / Math.sqrt(E) + bias[n];
        if (w[n] > top) top = w[n];
      }
      for (let n = 0; n < at.length; n++) total += w[n] = Math.exp(w[n] - top);
      for (let n = 0; n < at.length; n++) {
        const value = v[at[n]], share = w[n] / total;
        for (let e = from; e < from + E; e++) y[e] += share * value[e];
      }
    }
    return y;
  }

  /** Median (the mean of the two middle ones of an even number) and sample standard deviation. */
  function summarise(estimates) {
    const n = estimates.length, sorted = [...estimates].sort((a, b) => a - b), mean = sorted.reduce((s, v) => s + v, 0) / n;
    const point = (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
    return { point, spread: n > 1 ? Math.sqrt(sorted.reduce((s, v) => s + (v - mean) ** 2, 0) / (n - 1)) : 0, estimates };
  }

  /** Step by step: each prediction becomes an observation. A "growing" context keeps all, a "sliding" one the last N,
      at most as many as in training. A step is {point, spread, estimates}; between them it yields nothing, as a pause, after each observation. */
  function* goOn(model, y, steps, context = "growing") {
    const last = Math.min(y.length, model.observed), all = [...y];
    let kept = empty(model), known = 0;
    for (let step = 0; step < steps; step++) {
      const seen = context === "growing" ? all : all.slice(-last);
      if (context === "sliding") [kept, known] = [empty(model), 0];
      while (known < seen.length) {
        observe(model, kept, seen, (known += 1));
        yield;
      }
      const z = ask(model, kept, seen.length + 1);
      const answer = summarise(model.relational ? seen.map((value, i) => z[i] + value) : z);
      all.push(answer.point);
      yield answer;
    }
  }

  // ----------------------------------------------------------------------------------------------- ready curves

  /** Functions of x from 1 on; the first three are of the classes that the networks learned from. */
  const CURVES = {
    line: { title: "a line", f: (x) => 0.08 * x },
    sine: { title: "a sine", f: (x) => Math.sin((2 * Math.PI * x) / 8 + 1) },
    random: { title: "a random smooth curve" },
    parabola: { title: "a parabola", f: (x) => ((x - 5) / 6) ** 2 - 0.5 },
    slow: { title: "a slow sine", f: (x) => Math.sin((2 * Math.PI * x) / 24) },
    both: { title: "a sine on a line", f: (x) => 0.06 * x + 0.6 * Math.sin((2 * Math.PI * x) / 7) - 0.5 },
    step: { title: "a step", f: (x) => (x < 7 ? -0.5 : 0.5) },
    flat: { title: "always the same", f: () => 0.3 },
  };

  /** A normal number, from two uniform ones. */
  const normal = (draw) => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());

  /** {truth, y} at x = 1..points: a curve by its name, and with noise of that standard deviation, uniform as in training. */
  function curve(name, points, noise, seed, length) {
    const draw = uniform(seed), off = upTo(points).map(() => noise * Math.sqrt(3) * (2 * draw() - 1));
    const truth = CURVES[name].f ? upTo(points).map(CURVES[name].f) : smooth(points, length, draw);
    return { truth, y: truth.map((value, i) => value + off[i]) };
  }

  /** A draw of the Gaussian process that random curves come from. */
  function smooth(points, length, draw) {
    const L = cholesky(covariance([{ kind: "rbf", variance: 1, length }], upTo(points), upTo(points), 1e-6));
    const e = upTo(points).map(() => normal(draw));
    return L.map((row) => row.reduce((sum, value, j) => sum + value * e[j], 0));
  }

  // ----------------------------------------------------------------------------------------- a Gaussian process

  /** Parts of a kernel, as scikit-learn writes them. */
  const KERNELS = {
    constant: ({ variance }) => () => variance,
    rbf: ({ variance, length }) => (x, z) => variance * Math.exp(-0.5 * ((x - z) / length) ** 2),
    linear: ({ variance, start }) => (x, z) => variance * (start * start + x * z),
    periodic: ({ variance, length, period }) => (x, z) => variance * Math.exp(-2 * (Math.sin((Math.PI * (x - z)) / period) / length) ** 2),
  };

  /** The covariances of a sum of parts; `noise` is the variance added to the diagonal. */
  function covariance(parts, xs, zs, noise = 0) {
    const kernels = parts.map((part) => KERNELS[part.kind](part));
    return xs.map((x, i) => Float64Array.from(zs, (z, j) => kernels.reduce((sum, k) => sum + k(x, z), i === j ? noise : 0)));
  }

  /** Posterior mean and standard deviation of the next observations, noise included, and the log marginal likelihood. */
  function gaussianProcess(y, steps, parts, noise) {
    const x = upTo(y.length), ahead = upTo(steps).map((step) => y.length + step);
    const L = cholesky(covariance(parts, x, x, noise)), alpha = backward(L, forward(L, y));
    const fit = y.reduce((sum, value, i) => sum + value * alpha[i], 0);
    const logs = L.reduce((sum, row, i) => sum + Math.log(row[i]), 0);
    const point = [], spread = [];
    for (const place of ahead) {
      const [across] = covariance(parts, [place], x), half = forward(L, across), [[own]] = covariance(parts, [place], [place], noise);
      point.push(across.reduce((sum, c, i) => sum + c * alpha[i], 0));
      spread.push(Math.sqrt(own - half.reduce((sum, c) => sum + c * c, 0)));
    }
    return { point, spread, evidence: -0.5 * fit - logs - (y.length / 2) * Math.log(2 * Math.PI) };
  }

  /** The likeliest of several processes {kind, parts, fitted}; each fitted hyperparameter costs log(N) / 2. */
  function likeliest(y, steps, processes, noise) {
    const all = processes.map((process) => ({ ...process, ...gaussianProcess(y, steps, process.parts, noise) }));
    const worth = ({ evidence, fitted }) => evidence - 0.5 * Math.log(y.length) * fitted;
    return all.reduce((best, each) => (worth(each) > worth(best) ? each : best));
  }

  window.Extrapolation = { CURVES, build, goOn, curve, gaussianProcess, likeliest };
})();
