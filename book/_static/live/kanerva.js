/* The Product Kanerva Machine. The memory counts in float64. Symbols as in mini_lib/kanerva/memory and models:
   machine i has means R_i (D rows, M columns) and the covariance V_i of its columns; z is a code, w_i its address,
   eta_i the noise, gamma_i the weight, psi_i the prior's variance. Nothing is changed: to write makes a new memory. */
(function () {
  "use strict";
  const { linear, convolution, relu, softplus, join, sum, dot } = Arithmetic;
  const EPSILON = 2 ** -52, PRECISION = 64, LEAST_NOISE = 1e-3;

  // ------------------------------------------------------------------------------------------------------ memory

  /** A memory at its prior: means [K, D, M], and psi of each machine. */
  function empty({ shape: [K, D, M], data }, psi, ridge) {
    const R = Array.from({ length: K }, (_, i) => Float64Array.from(data.subarray(i * D * M, (i + 1) * D * M)));
    const V = psi.map((variance) => Float64Array.from({ length: M * M }, (_, at) => (at % (M + 1) ? 0 : variance)));
    return { K, D, M, R, V, psi, ridge };
  }

  /** The lower factor L of a symmetric matrix of n rows: A = L L^T. */
  function cholesky(A, n) {
    const L = new Float64Array(n * n);
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) {
      let s = A[i * n + j];
      for (let k = 0; k < j; k++) s -= L[i * n + k] * L[j * n + k];
      L[i * n + j] = i === j ? Math.sqrt(s) : s / L[j * n + j];
    }
    return L;
  }

  /** x with L L^T x = b. */
  function solve(L, b) {
    const n = b.length, x = Float64Array.from(b);
    for (let i = 0; i < n; i++) {
      for (let k = 0; k < i; k++) x[i] -= L[i * n + k] * x[k];
      x[i] /= L[i * n + i];
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) x[i] -= L[k * n + i] * x[k];
      x[i] /= L[i * n + i];
    }
    return x;
  }

  /** Factors of R^T R + lambda I, one a machine; worked out once for each memory. */
  function factors(memory) {
    const { D, M, ridge } = memory;
    memory.factors ??= memory.R.map((R) => {
      const A = new Float64Array(M * M);
      for (let d = 0; d < D; d++) for (let i = 0; i < M; i++) for (let j = 0; j < M; j++) A[i * M + j] += R[d * M + i] * R[d * M + j];
      let trace = 0;
      for (let i = 0; i < M; i++) trace += A[i * M + i];
      for (let i = 0; i < M; i++) A[i * M + i] += ridge + EPSILON * trace;
      return cholesky(A, M);
    });
    return memory.factors;
  }

  /** The address of a code in each machine, by least squares. */
  function addresses(memory, z) {
    const { D, M } = memory;
    return factors(memory).map((L, i) => {
      const R = memory.R[i], b = new Float64Array(M);
      for (let d = 0; d < D; d++) for (let m = 0; m < M; m++) b[m] += R[d * M + m] * z[d];
      return solve(L, b);
    });
  }

  /** Each row of a matrix times a vector. */
  const times = (A, x) => Float64Array.from({ length: A.length / x.length }, (_, row) => {
    let s = 0;
    for (let i = 0; i < x.length; i++) s += A[row * x.length + i] * x[i];
    return s;
  });

  /** What a memory answers: `parts`, R_i w_i of each machine, and `code`, their sum with weights gamma. */
  function read(memory, z, gamma) {
    const w = addresses(memory, z), parts = w.map((each, i) => times(memory.R[i], each)), code = new Float64Array(memory.D);
    parts.forEach((part, i) => part.forEach((v, d) => { code[d] += gamma[i] * v; }));
    return { code, parts, w };
  }

  /** What is uncertain together with an address, u = V w, and how much at it, w V w. */
  function uncertain(V, w) {
    const u = times(V, w);
    return { u, known: Math.max(0, dot(u, w)) };
  }

  /** The memory with one code more (all machines share the error of the joint read-out), and the nats that it taught each machine. */
  function write(memory, z, { eta, gamma }) {
    const { D, M } = memory, { code, w } = read(memory, z, gamma);
    const error = code.map((v, d) => z[d] - v), R = [], V = [], nats = [];
    w.forEach((address, i) => {
      const { u, known } = uncertain(memory.V[i], address);
      const noise = Math.max(eta[i] ** 2, PRECISION * EPSILON * memory.psi[i] * dot(address, address)), beta = 1 / (known + noise);
      R[i] = memory.R[i].map((v, at) => v + error[Math.floor(at / M)] * (beta * u[at % M]));              // Eq. 3
      V[i] = memory.V[i].map((v, at) => v - beta * (u[Math.floor(at / M)] * u[at % M]));                  // Eq. 4
      nats[i] = 0.5 * (D * (Math.log1p(known / noise) - beta * known) + beta ** 2 * known * dot(error, error));
    });
    return { memory: { ...memory, R, V, factors: undefined }, nats };
  }

  /** The mean variance of a column, in parts of the prior's: 1 before anything is written. */
  function spread({ K, M, V, psi }) {
    return sum(V.map((each, i) => sum(each.filter((_, at) => at % (M + 1) === 0)) / psi[i])) / (K * M);
  }

  // ----------------------------------------------------------------------------------------------------- network

  /** Linear layers of these numbers with ReLU between them. */
  const perceptron = (net, name, layers, x) => layers.reduce((y, layer, i) => linear(net, `${name}.${layer}`, i ? relu(y) : y), x);

  /** The code of an image, all of its channels one after the other. */
  const encode = (net, image) => linear(net, "encoder.code", relu(linear(net, "encoder.hidden", Float32Array.from(image))));

  /** The logits of a code's pixels. */
  const decode = (net, z) => linear(net, "decoder.pixels", relu(linear(net, "decoder.hidden", Float32Array.from(z))));

  /** The transpose of a convolution by a kernel of 4 x 4 at stride 2 with 1 zero on each side, cut to `out` pixels a side. */
  function transposed({ shape: [inputs, outputs, n], data }, bias, x, out) {
    const side = Math.sqrt(x.length / inputs), y = new Float32Array(outputs * out * out).map((_, at) => bias[Math.floor(at / (out * out))]);
    for (let i = 0; i < inputs; i++) for (let r = 0; r < side; r++) for (let c = 0; c < side; c++) {
      const v = x[(i * side + r) * side + c];
      if (v === 0) continue;
      for (let o = 0; o < outputs; o++) for (let a = 0; a < n; a++) for (let b = 0; b < n; b++) {
        const row = 2 * r + a - 1, column = 2 * c + b - 1;
        if (row >= 0 && row < out && column >= 0 && column < out) y[(o * out + row) * out + column] += v * data[((i * outputs + o) * n + a) * n + b];
      }
    }
    return y;
  }

  const PADDING = [2, 2, 2, 3];  // of the encoder's convolutions: "stride2" in mini_lib/kanerva/images.py

  /** The code of a picture, by convolutions. */
  const convolve = (net, image) => linear(net, "encoder.code", PADDING.reduce((x, pad, i) =>
    relu(convolution(net, `encoder.convs.${i}`, x, pad)), Float32Array.from(image)));

  /** The logits of a code's pixels, by transposed convolutions to pictures of `size` pixels a side. */
  const deconvolve = (net, z, size = 28) => [4, 2, 1].reduce((x, share, i) =>
    transposed(net[`decoder.convs.${i}.weight`], net[`decoder.convs.${i}.bias`].data, relu(x), Math.ceil(size / share)), linear(net, "decoder.maps", Float32Array.from(z)));

  /** gamma_i in proportion to 1 / eta_i^2. */
  function weightsOf(eta) {
    const precisions = Array.from(eta, (v) => v ** -2), total = sum(precisions);
    return { eta: Array.from(eta), gamma: precisions.map((v) => v / total) };                             // Eq. 45
  }

  /** An episode in which nothing has been written: the memory, and the mean Omega of its history. */
  function begin(net, ridge) {
    const psi = Array.from(net.log_psi.data, Math.exp), width = net["history.psi.bias"].data.length;
    return { memory: empty(net.prior_means, psi, ridge), omega: new Float32Array(width), items: 0 };
  }

  /** eta and gamma that the network infers for a code, every variable at its mean. */
  function infer(net, { omega }, z) {
    const h = perceptron(net, "history.mean", [0, 2], omega);                                            // h of q(h | z_1..t)
    const u = linear(net, "assignment.mean", join(perceptron(net, "assignment.mlp", [0, 2, 4], Float32Array.from(z)), h));
    return weightsOf(u.map((v) => softplus(v) + LEAST_NOISE));
  }

  /** The episode with one code more, with the weights that it was written with, and the nats that it taught. */
  function store(net, episode, z) {
    const weights = infer(net, episode, z), { memory, nats } = write(episode.memory, z, weights), n = episode.items;
    const added = linear(net, "history.psi", join(Float32Array.from(z), Float32Array.from(weights.gamma)));
    return { episode: { memory, omega: added.map((v, i) => (v + n * episode.omega[i]) / (n + 1)), items: n + 1 }, weights, nats };
  }

  /** The episode with one machine put back to its prior; the history, and with it all weights, stays. */
  function forget(net, episode, machine) {
    const { memory } = episode, prior = begin(net, memory.ridge).memory;
    const put = (name) => memory[name].map((each, i) => (i === machine ? prior[name][i] : each));
    return { ...episode, memory: { ...memory, R: put("R"), V: put("V"), factors: undefined } };
  }

  /** What an episode's memory answers to the code of a query: as `read`, with the weights. */
  function ask(net, episode, z) {
    const weights = infer(net, episode, z);
    return { ...read(episode.memory, z, weights.gamma), weights };
  }

  /** What a reader of these logits pays for the truth, in nats. */
  const nats = (logits, truth) => logits.reduce((total, v, i) => total + softplus(truth[i] ? -v : v), 0);

  window.Kanerva = { empty, read, write, spread, encode, decode, convolve, deconvolve, weightsOf, begin, infer, store, forget, ask, nats };
})();
