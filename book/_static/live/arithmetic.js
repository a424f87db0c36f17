/* Arithmetic for the networks that answer in the book's pages: typed arrays, no library, no request.
   A vector is a Float32Array; a matrix of n rows lies row by row in one; a tensor is {shape, data}. */
(function () {
  "use strict";

  const SIZES = { F16: 2, F32: 4, U8: 1 };

  /** The number that sixteen bits stand for (IEEE 754 half precision). */
  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * 2 ** (exponent - 15) * (1 + fraction / 1024);
  }

  /** Tensors by name, of a safetensors file that was written as base64. Numbers become float32. */
  function unpack(base64) {
    const text = atob(base64), bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const start = 8 + new DataView(bytes.buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const halves = Float32Array.from({ length: 65536 }, (_, bits) => half(bits)), tensors = {};
    for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
      if (name === "__metadata__") continue;
      if (!(dtype in SIZES)) throw new Error(`${name} is of type ${dtype}, which no page can read`);
      const raw = bytes.slice(start + from, start + to), count = raw.length / SIZES[dtype];
      let data;
      if (dtype === "F16") data = new Uint16Array(raw.buffer).reduce((all, bits, i) => { all[i] = halves[bits]; return all; }, new Float32Array(count));
      else if (dtype === "F32") data = new Float32Array(raw.buffer);
      else data = Float32Array.from(raw);
      tensors[name] = { shape, data };
    }
    return tensors;
  }

  /** W x + b for W of n rows. Four rows at a time: twice as fast. */
  function affine(W, b, x, n = W.length / x.length) {
    const m = x.length, y = new Float32Array(n);
    let row = 0;
    for (; row + 3 < n; row += 4) {
      const k0 = row * m, k1 = k0 + m, k2 = k1 + m, k3 = k2 + m;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (let c = 0; c < m; c++) {
        const v = x[c];
        s0 += W[k0 + c] * v; s1 += W[k1 + c] * v; s2 += W[k2 + c] * v; s3 += W[k3 + c] * v;
      }
      y[row] = s0; y[row + 1] = s1; y[row + 2] = s2; y[row + 3] = s3;
    }
    for (; row < n; row++) {
      let s = 0;
      for (let c = 0; c < m; c++) s += W[row * m + c] * x[c];
      y[row] = s;
    }
    if (b) for (let i = 0; i < n; i++) y[i] += b[i];
    return y;
  }

  /** The linear layer `name` of a network: its weight and its bias. */
  const linear = (net, name, x) => affine(net[name + ".weight"].data, net[name + ".bias"].data, x);

  /** A square kernel over an image [channels, side, side] at stride 2, with `pad` zeros on each side. */
  function convolution(net, name, x, pad) {
    const { shape: [outputs, inputs, n], data } = net[name + ".weight"], bias = net[name + ".bias"].data;
    const side = Math.sqrt(x.length / inputs), out = Math.floor((side + 2 * pad - n) / 2) + 1, y = new Float32Array(outputs * out * out);
    for (let o = 0; o < outputs; o++) for (let r = 0; r < out; r++) for (let c = 0; c < out; c++) {
      let s = bias[o];
      for (let i = 0; i < inputs; i++) for (let a = Math.max(0, pad - 2 * r); a < n && 2 * r + a - pad < side; a++) {
        const row = (i * side + 2 * r + a - pad) * side - pad + 2 * c, kernel = ((o * inputs + i) * n + a) * n;
        for (let b = Math.max(0, pad - 2 * c); b < n && 2 * c + b - pad < side; b++) s += data[kernel + b] * x[row + b];
      }
      y[(o * out + r) * out + c] = s;
    }
    return y;
  }

  /** The whole numbers from one to before another. */
  const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

  const sigmoid = (v) => 1 / (1 + Math.exp(-v));
  const softplus = (v) => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v)));
  const relu = (x) => x.map((v) => Math.max(0, v));
  const add = (a, b) => a.map((v, i) => v + b[i]);
  const sum = (values) => values.reduce((total, v) => total + v, 0);
  const dot = (a, b) => a.reduce((total, v, i) => total + v * b[i], 0);

  /** The index of the largest. */
  const argmax = (x) => x.reduce((best, v, i) => (v > x[best] ? i : best), 0);

  /** Weights that add to one. What is -Infinity gets 0. */
  function softmax(x) {
    const top = x.reduce((a, b) => Math.max(a, b), -Infinity), e = x.map((v) => Math.exp(v - top));
    const total = sum(e);
    return e.map((v) => v / total);
  }

  /** sum_i weights[i] rows[i] */
  function mix(weights, rows) {
    const y = new Float32Array(rows[0].length);
    rows.forEach((row, i) => { if (weights[i]) for (let j = 0; j < y.length; j++) y[j] += weights[i] * row[j]; });
    return y;
  }

  /** One vector after the other. */
  function join(a, b) {
    const y = new Float32Array(a.length + b.length);
    y.set(a);
    y.set(b, a.length);
    return y;
  }

  /** The rows of a tensor, as views. */
  function rows({ shape, data }) {
    const n = shape[shape.length - 1];
    return Array.from({ length: data.length / n }, (_, i) => data.subarray(i * n, (i + 1) * n));
  }

  /** An LSTM's next {h, c}, from its four gates (input, forget, cell, output) before their nonlinearities. */
  function lstm(gates, c) {
    const H = c.length, next = { h: new Float32Array(H), c: new Float32Array(H) };
    for (let k = 0; k < H; k++) {
      next.c[k] = sigmoid(gates[H + k]) * c[k] + sigmoid(gates[k]) * Math.tanh(gates[2 * H + k]);
      next.h[k] = sigmoid(gates[3 * H + k]) * Math.tanh(next.c[k]);
    }
    return next;
  }

  /** Random numbers that a page can repeat: uniform in [0, 1), by mulberry32. */
  function uniform(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  window.Arithmetic = {
    unpack, affine, linear, convolution, range, sigmoid, softplus, relu, add, sum, dot, argmax, softmax, mix, join, rows, lstm, uniform,
  };
})();
