/* The GRU with attention. Symbols as in mini_lib/scan/gru_attention.py: m_j is what the encoder makes of word j,
   h the state of the decoder, c the mixture of all m_j that it attends to, y its last action. */
(function () {
  "use strict";
  const { affine, linear, sigmoid, dot, argmax, softmax, mix, join, rows } = Arithmetic;

  /** The next state, from W x + b and U h + d, each of three gates (reset, update, new). */
  function gru(given, own, h) {
    const H = h.length;
    return h.map((old, k) => {
      const update = sigmoid(given[H + k] + own[H + k]), fresh = Math.tanh(given[2 * H + k] + sigmoid(given[k] + own[k]) * own[2 * H + k]);
      return fresh + update * (old - fresh);
    });
  }

  /** m_j of every vector, and the last states of both directions. */
  function encode(net, vectors) {
    const half = ({ data }, direction) => data.subarray((direction * data.length) / 2, ((direction + 1) * data.length) / 2);
    const [forth, back] = [0, 1].map((direction) => {
      const [W, U, b, d] = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].map((name) => half(net["encoder." + name], direction));
      let h = new Float32Array(d.length / 3);
      const each = [], order = [...vectors.keys()];
      for (const j of direction ? order.reverse() : order) each[j] = h = gru(affine(W, b, vectors[j]), affine(U, d, h), h);
      return { each, last: h };
    });
    return { memory: vectors.map((_, j) => join(forth.each[j], back.each[j])), last: join(forth.last, back.last) };
  }

  /** What the network outputs for words, given as vectors, and the logits of each step. It stops at action `end`, or after `most`. */
  function decode(net, vectors, end, most) {
    const { memory, last } = encode(net, vectors), known = rows(net["action.weight"]), energy = net["energy.weight"].data;
    const apply = (name, x) => affine(net[name + ".weight"].data, null, x), keys = memory.map((m) => apply("key", m));
    let h = linear(net, "bridge", last).map(Math.tanh), y = new Float32Array(known[0].length);
    const actions = [], logits = [];
    while (actions.length < most && actions.at(-1) !== end) {
      const query = apply("query", h), alpha = softmax(Float32Array.from(keys, (key) => dot(energy, key.map((v, k) => Math.tanh(v + query[k])))));
      const c = mix(alpha, memory), W = net["decoder.weight_ih"].data, U = net["decoder.weight_hh"].data;
      h = gru(affine(W, net["decoder.bias_ih"].data, join(y, c)), affine(U, net["decoder.bias_hh"].data, h), h);
      logits.push(apply("logits", apply("before_logits", join(join(y, h), c))));
      actions.push(argmax(logits.at(-1)));
      y = known[actions.at(-1)];
    }
    return { actions, logits };
  }

  /** The vectors of a command's words and its end, where *jump* has come this share of the way to the mean of the `goals`. */
  function vectors(net, words, command, share, goals = ["look"]) {
    const table = rows(net["word.weight"]), row = (word) => table[words.indexOf(word)];
    const goal = mix(new Float32Array(goals.length).fill(1 / goals.length), goals.map(row)), moved = row("jump").map((v, k) => v + share * (goal[k] - v));
    return [...command, "<EOS>"].map((word) => (word === "jump" ? moved : table[words.indexOf(word)]));
  }

  Object.assign(Scan, { decode, vectors });
})();
