/* The Emergent Symbol Binding Network, its LSTM baseline, and problems of distribution-of-three. Symbols as in
   mini_lib/esbn/models/esbn.py: z_t is the embedding of step t (from 0), k_w the key written, k_r what is read,
   g the gate, w the weights, c the confidences, M_k the keys in memory. Its values M_v are the z_t themselves. */
(function () {
  "use strict";
  const { affine, linear, sigmoid, relu, add, dot, softmax, mix, join, lstm } = Arithmetic;
  const SIDE = 32, ROW = 3, ASKED = 5, EPSILON = 1e-8; // ASKED: the step of the first choice

  /** A convolution of 4x4 with stride 2 over an image with a border of one zero, then a ReLU: half as many pixels a side. */
  function convolve(net, name, image, side) {
    const { shape: [outputs, channels], data: W } = net[name + ".weight"], b = net[name + ".bias"].data, half = side / 2;
    const y = new Float32Array(outputs * half * half);
    for (let at = 0; at < y.length; at++) {
      const o = Math.floor(at / (half * half)), row = Math.floor(at / half) % half, column = at % half;
      let s = b[o];
      for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
        const v = 2 * row + i - 1, u = 2 * column + j - 1;
        if (v < 0 || v >= side || u < 0 || u >= side) continue;
        for (let k = 0; k < channels; k++) s += W[((o * channels + k) * 4 + i) * 4 + j] * image[(k * side + v) * side + u];
      }
      y[at] = Math.max(0, s);
    }
    return y;
  }

  /** The encoder f_e: an image of 32x32 numbers, 1 for white and 0 for ink, becomes 128. */
  function encode(net, image) {
    const features = ["conv1", "conv2", "conv3"].reduce((x, name, i) => convolve(net, "encoder." + name, x, SIDE >> i), image);
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

  /** The right choice of a problem, from 0, as {answer}; {error}, a sentence, where there is none. */
  function solve(ids) {
    const left = ids.slice(0, ROW), choices = ids.slice(ASKED);
    for (const id of ids.slice(ROW, ASKED)) {
      if (!left.includes(id)) return { error: "Row 2 shows an object that row 1 does not hold so often, so no choice is right." };
      left.splice(left.indexOf(id), 1);
    }
    const places = choices.flatMap((id, i) => (id === left[0] ? [i] : []));
    if (!places.length) return { error: "The missing object is not among the choices, so none is right." };
    if (places.length > 1) return { error: "The missing object stands among the choices more than once." };
    return { answer: places[0] };
  }

  window.ESBN = { SIDE, ROW, ASKED, encode, normalise, run, baseline, project, draw, shuffle, solve };
})();
