/* Networks that continue a curve, and ready curves. Symbols as in mini_lib/functions: y_i is observed at x = i; a token
   is its places and its value; z_i is the answer to query i. */
(function () {
  "use strict";
  const { linear, add, sum, range, softplus } = Arithmetic;

  /** tanh's approximation of GELU. */
  const gelu = (x) => x.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v * v * v))));

  /** The layer normalisation `name` of a network. */
  function norm(net, name, x) {
    const gain = net[name + ".weight"].data, shift = net[name + ".bias"].data;
    const mean = sum(x) / x.length, variance = sum(x.map((v) => (v - mean) ** 2)) / x.length;
    const size = 1 / Math.sqrt(variance + 1e-5);
    return x.map((v, i) => (v - mean) * size * gain[i] + shift[i]);
  }

  /** A network ready to answer: {axes, heads, scale, strict} as its parcel says, and its tensors. `length`: of its
      window, by default the one that it was trained with. */
  function build(net, { axes, heads, scale, strict }, length) {
    let layers = 0;
    while (net[`transformer.blocks.${layers}.qkv.weight`]) layers += 1;
    return { net, relational: axes === 2, heads, scale, layers, nearest: strict ? 1 : 0, logFactor: logFactor(net, length) };
  }

  /** A window's a and b: its length is a b; none for a network without a window. */
  function windowOf(net) {
    if (!net["window.log_a"]) return null;
    const [a, b] = ["log_a", "log_b"].map((name) => Math.exp(net["window.rate"].data[0] * net[`window.${name}`].data[0]));
    return { a, b };
  }

  /** log F(d): what the window adds to the scores at distance d. */
  function logFactor(net, length) {
    const own = windowOf(net), known = [];
    if (!own) return () => 0;
    const { a } = own, b = length ? length / a : own.b;
    return (d) => (known[d] ??= softplus(-a) - softplus(d / b - a));
  }

  const empty = ({ layers }) => ({ places: [], layers: Array.from({ length: layers }, () => ({ k: [], v: [] })) });

  /** Take in observation j: what each layer keeps of its tokens joins `kept`. */
  function observe(model, kept, y, j) {
    const places = model.relational ? range(1, j).map((i) => [i, j]) : [[j]];
    const values = model.relational ? places.map(([i]) => y[j - 1] - y[i - 1]) : [y[j - 1]];
    pass(model, kept, places, values, true);
  }

  /** The answers to the queries about place `following`; nothing of a query is kept. `seen`: see `attentionTo`. */
  function ask(model, kept, following, seen) {
    const places = model.relational ? range(1, following + 1).map((i) => [i, following]) : [[following]];
    return pass(model, kept, places, places.map(() => 0), false, seen);
  }

  /** Tokens through all blocks: answers, one a token; or, to `keep`, their keys and values in `kept`. */
  function pass(model, kept, places, values, keep, seen = () => {}) {
    const { net, heads, scale, layers } = model, all = [...kept.places, ...places];
    const visible = places.map((place) => looks(model, place, all));
    let x = places.map((place, t) => linear(net, "read_in", Float32Array.from([...place.map((at) => scale * at), values[t]])));
    for (let layer = 0; layer < layers; layer++) {
      const name = `transformer.blocks.${layer}.`, D = x[0]?.length;
      const qkv = x.map((token) => linear(net, name + "qkv", norm(net, name + "norm_attention", token)));
      const k = [...kept.layers[layer].k, ...qkv.map((each) => each.subarray(D, 2 * D))];
      const v = [...kept.layers[layer].v, ...qkv.map((each) => each.subarray(2 * D))];
      if (keep) kept.layers[layer] = { k, v };
      if (keep && layer === layers - 1) break;                        // of the last block only keys and values count
      x = x.map((token, t) => {
        const read = add(token, linear(net, name + "out_proj", attend(qkv[t], k, v, visible[t], D, heads, (key, w) => seen(all[key], w))));
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

  /** What attention reads for the query q, head by head. Every weight is given to `seen`. */
  function attend(q, k, v, { at, bias }, D, heads, seen) {
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
        seen(at[n], share);
        for (let e = from; e < from + E; e++) y[e] += share * value[e];
      }
    }
    return y;
  }

  /** Median (the mean of the two middle ones of an even number) and sample standard deviation. */
  function summarise(estimates) {
    const n = estimates.length, sorted = [...estimates].sort((a, b) => a - b), mean = sum(sorted) / n;
    const point = (sorted[(n - 1) >> 1] + sorted[n >> 1]) / 2;
    return { point, spread: n > 1 ? Math.sqrt(sum(sorted.map((v) => (v - mean) ** 2)) / (n - 1)) : 0, estimates };
  }

  /** Step by step: each prediction becomes an observation. A step is {point, spread, estimates}; between them it yields
      nothing, as a pause, after each observation. */
  function* goOn(model, y, steps) {
    const all = [...y], kept = empty(model);
    for (let known = 0; all.length < y.length + steps;) {
      while (known < all.length) {
        observe(model, kept, all, (known += 1));
        yield;
      }
      const z = ask(model, kept, all.length + 1), answer = summarise(model.relational ? all.map((value, i) => z[i] + value) : z);
      all.push(answer.point);
      yield answer;
    }
  }

  /** How much the queries about the next value attend to each place x = 1..N + 1: the later place of what they see; a
      mean over layers, heads and queries. What sees nothing counts as nothing. */
  function attentionTo(model, y) {
    const kept = empty(model), total = new Float64Array(y.length + 1), asked = model.relational ? y.length + 1 : 1;
    y.forEach((_, i) => observe(model, kept, y, i + 1));
    ask(model, kept, y.length + 1, (place, weight) => { total[place[place.length - 1] - 1] += weight; });
    return total.map((v) => v / (model.layers * model.heads * asked));
  }

  /** Functions of x from 1 on; the parcel adds curves of the classes that the networks were trained on. */
  const CURVES = {
    line: { title: "a line", f: (x) => 0.08 * x },
    sine: { title: "a sine", f: (x) => Math.sin((2 * Math.PI * x) / 8 + 1) },
    step: { title: "a step", f: (x) => (x < 7 ? -0.5 : 0.5) },
    parabola: { title: "a parabola", f: (x) => ((x - 5) / 6) ** 2 - 0.5 },
  };

  window.Extrapolation = { CURVES, build, windowOf, logFactor, goOn, attentionTo };
})();
