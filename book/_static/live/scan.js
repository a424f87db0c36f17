/* Syntactic Attention and the grammar of SCAN. Symbols as in mini_lib/scan/syntactic_attention.py:
   x_j is word j, m_j its meaning, h_j its role, s the query, alpha the weights of a step. */
(function () {
  "use strict";
  const { affine, linear, relu, add, dot, softmax, mix, join, rows, lstm } = Arithmetic;

  const VERBS = ["walk", "look", "run", "jump"];
  const PHRASE = new RegExp(`^(${VERBS.join("|")}|turn)(?: (opposite|around))?(?: (left|right))?(?: (twice|thrice))?$`);

  /** The steps of a command, each {action, at}: the place from 0 of the word that it is the meaning of. Null for what is no command. */
  function derive(words) {
    const joint = words.findIndex((word) => word === "and" || word === "after");
    if (joint < 0) return phrase(words, 0);
    const first = phrase(words.slice(0, joint), 0), second = phrase(words.slice(joint + 1), joint + 1);
    if (!first || !second) return null;
    return words[joint] === "and" ? [...first, ...second] : [...second, ...first];
  }

  function phrase(words, start) {
    const parts = PHRASE.exec(words.join(" "));
    if (!parts) return null;
    const [, verb, manner, direction, times] = parts;
    if (!direction && (manner || verb === "turn")) return null;
    const act = verb === "turn" ? [] : [{ action: verb.toUpperCase(), at: start }];
    const turn = direction ? [{ action: direction.toUpperCase(), at: start + (manner ? 2 : 1) }] : [];
    const once = manner === "opposite" ? [...turn, ...turn, ...act] : manner === "around" ? repeat(4, [...turn, ...act]) : [...turn, ...act];
    return repeat({ twice: 2, thrice: 3 }[times] ?? 1, once);
  }

  const repeat = (times, list) => Array.from({ length: times }, () => list).flat();

  /** Both directions of a bidirectional LSTM: {each: hidden state at every word, last: its state when it has read all}. */
  function bilstm(net, name, xs) {
    const inputs = net[name + ".weight_ih"], hidden = net[name + ".weight_hh"].data, [, gates, width] = inputs.shape;
    return [0, 1].map((direction) => {
      const part = (data, size) => data.subarray(direction * size, (direction + 1) * size);
      const W = part(inputs.data, gates * width), U = part(hidden, (gates * gates) / 4);
      const b = add(part(net[name + ".bias_ih"].data, gates), part(net[name + ".bias_hh"].data, gates));
      let state = { h: new Float32Array(gates / 4), c: new Float32Array(gates / 4) };
      const each = [], order = direction ? [...xs.keys()].reverse() : [...xs.keys()];
      for (const j of order) {
        state = lstm(add(affine(W, b, xs[j]), affine(U, null, state.h)), state.c);
        each[j] = state.h;
      }
      return { each, last: state.h };
    });
  }

  /** The syntax stream: the role of each word, and the first query. */
  function rolesAndQuery(net, words) {
    const embedded = rows(net["word.weight"]), ends = rows(net.ends), final = words.length - 1;
    const [before, after] = bilstm(net, "neighbors", words.map((word) => embedded[word]));
    const around = words.map((_, j) => {
      if (j === 0) return ends[0];
      return j === final ? ends[1] : join(before.each[j - 1], after.each[j + 1]);                        // Eq. 2
    });
    const [forth, back] = bilstm(net, "roles", around);
    return { roles: words.map((_, j) => join(forth.each[j], back.each[j])), query: relu(linear(net, "first_query", join(forth.last, back.last))) };
  }

  /** The attention weights of every step; they depend on the words that syntax hears alone. */
  function steer(net, words, steps) {
    const { roles, query } = rolesAndQuery(net, words), b = add(net["decoder.bias_ih"].data, net["decoder.bias_hh"].data);
    const seen = roles.map((role) => affine(net["decoder.weight_ih"].data, b, role));
    let s = query, state = { h: new Float32Array(query.length), c: new Float32Array(query.length) };
    return Array.from({ length: steps }, () => {
      const alpha = softmax(Float32Array.from(roles, (role) => dot(role, s)));                            // Eq. 4, 5
      state = lstm(add(mix(alpha, seen), affine(net["decoder.weight_hh"].data, null, state.h)), state.c); // Eq. 6
      s = state.h;
      return alpha;
    });
  }

  /** The logits of every step: a linear function of the meanings that attention finds. */
  function say(net, attention, words) {
    const meanings = rows(net["meaning.weight"]);
    return attention.map((alpha) => linear(net, "action", mix(alpha, words.map((word) => meanings[word])))); // Eq. 1, 3
  }

  /** Random numbers as a network's first vectors have: of a normal distribution (Box and Muller). */
  function normals(random, count) {
    return Float32Array.from({ length: count }, () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()));
  }

  /** The network with one more word after its own, *dax*: random numbers for syntax, and the meaning of *jump*. */
  function withDax(net, words, random) {
    const longer = ({ shape: [, size], data }, row) => ({ shape: [words.length + 1, size], data: join(data.subarray(0, words.length * size), row) });
    const { "word.weight": word, "meaning.weight": meaning } = net, jump = rows(meaning)[words.indexOf("jump")];
    return { ...net, "word.weight": longer(word, normals(random, word.shape[1])), "meaning.weight": longer(meaning, jump) };
  }

  /** The network in which one word has the meaning of another. */
  function withMeaning(net, words, word, other) {
    const { shape, data } = net["meaning.weight"], [to, from] = [word, other].map((each) => words.indexOf(each) * shape[1]);
    return { ...net, "meaning.weight": { shape, data: Float32Array.from(data).copyWithin(to, from, from + shape[1]) } };
  }

  window.Scan = { derive, steer, say, withDax, withMeaning };
})();
