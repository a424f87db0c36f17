/* The Emergent Symbol Binding Network, its LSTM baseline, and problems of distribution-of-three. Symbols as in
   mini_lib/esbn/models/esbn.py: z_t is the embedding of step t (from 0), k_w the key written, k_r what is read,
   g the gate, w the weights, c the confidences, M_k the keys in memory. Its values M_v are the z_t themselves. */
(function () {
  "use strict";
  const { affine, linear, convolution, sigmoid, relu, add, dot, softmax, mix, join, lstm } = Arithmetic;
  const SIDE = 32, ROW = 3, ASKED = 5, EPSILON = 1e-8; // ASKED: the step of the first choice

  /** The encoder f_e: an image of 32x32 numbers, 1 for white and 0 for ink, becomes 128. */
  function encode(net, image) {
    const features = ["conv1", "conv2", "conv3"].reduce((x, name) => relu(convolution(net, "encoder." + name, x, 1)), image);
    return relu(linear(net, "encoder.fc2", relu(linear(net, "encoder.fc1", features))));
  }

  /** Temporal context normalisation: each feature, over the steps of one problem. */
  function normalise(net, embeddings) {
    const gain = net["norm.gain"].data, shift = net["norm.shift"].data, T = embeddings.length;
    const z = embeddings.map((e) => new Float32Array(e.length));
    for (let d = 0; d < gain.length; d++) {
      let mean = 0, variance = 0;
      for (const e of embeddings) mean += e[d] / T;
      for (const e of embeddings) variance += (e[d] - mean) ** 2 / (T - 1);
      embeddings.forEach((e, t) => { z[t][d] = ((e[d] - mean) / Math.sqrt(variance + EPSILON)) * gain[d] + shift[d]; });
    }
    return z;
  }

  /** An LSTM as a function: from an input and {h, c} to the next {h, c}. */
  function controller(net, name) {
    const [W, U, b_ih, b_hh] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((part) => net[`${name}.${part}`].data);
    const b = add(b_ih, b_hh);
    return (x, { h, c }) => lstm(add(affine(W, b, x), affine(U, null, h)), c);
  }

  /** Zeros for the state of an LSTM. */
  function rest(net, name) {
    const H = net[name + ".weight_hh"].shape[1];
    return { h: new Float32Array(H), c: new Float32Array(H) };
  }

  /** Algorithm 1, with all that happens at its T + 1 steps; at the last, z_t is zero. `edit(t, keys)` returns the keys that memory
      holds from step t on, as in the library's `algorithm_1`. */
  function run(net, z, edit = (t, keys) => keys) {
    const name = "core.controller", T = z.length, advance = controller(net, name);
    const [gain, bias] = ["gain", "bias"].map((part) => net["core.confidence_" + part].data[0]);
    let read = new Float32Array(net[name + ".weight_ih"].shape[1]), state = rest(net, name), M_k = [];          // lines 1-4
    const steps = [];
    for (let t = 0; t <= T; t++) {                                                                               // line 5
      M_k = edit(t, M_k);
      const z_t = z[t] ?? new Float32Array(z[0].length);                                                         // line 6
      state = advance(read, state);                                                                              // line 7
      const k_w = relu(linear(net, "core.key", state.h)), g = sigmoid(linear(net, "core.gate", state.h)[0]);
      let w = new Float32Array(0), c = w;
      if (t > 0) {                                                                                               // lines 8-9
        const similarity = Float32Array.from(z.slice(0, t), (z_i) => dot(z_i, z_t));
        w = softmax(similarity);                                                                                 // line 10
        c = similarity.map((s) => sigmoid(gain * s + bias));                                                     // line 11
        read = mix(w, M_k.map((key, i) => join(key, c.subarray(i, i + 1)))).map((v) => g * v);                   // line 12
      }
      steps.push({ k_w, k_r: read, g, w, c, M_k, logits: linear(net, "core.answer", state.h) });
      M_k = [...M_k, k_w];                                                                                       // lines 13-14
    }
    return { steps, logits: steps[T].logits };                                                                   // line 15
  }

  /** The baseline: an LSTM over the embeddings, and the answer from its last state. */
  function baseline(net, z) {
    const advance = controller(net, "core.lstm"), { h } = z.reduce((state, z_t) => advance(z_t, state), rest(net, "core.lstm"));
    return linear(net, "core.answer", h);
  }

  /** Keys as points [x, y] of a plane {centre, axes}. */
  function project({ centre, axes }, key) {
    const moved = key.map((v, i) => v - centre[i]);
    return axes.map((axis) => dot(axis, moved));
  }

  /** A problem of pictures of `pool`: row 1, the first two of row 2 and four choices. */
  function draw(random, pool) {
    const [a, b, c, odd] = shuffle(random, pool), first = [a, b, c];
    return [...first, ...shuffle(random, first).slice(0, 2), ...shuffle(random, [...first, odd])];
  }

  /** The same in another order (Fisher and Yates). */
  function shuffle(random, list) {
    const all = [...list];
    for (let i = all.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [all[i], all[j]] = [all[j], all[i]];
    }
    return all;
  }

  /** The right choice of a problem, from 0: the picture of row 1 that row 2 lacks. */
  function solve(ids) {
    const row2 = ids.slice(ROW, ASKED);
    return ids.slice(ASKED).indexOf(ids.slice(0, ROW).find((id) => !row2.includes(id)));
  }

  window.ESBN = { SIDE, ROW, ASKED, encode, normalise, run, baseline, project, draw, shuffle, solve };
})();
