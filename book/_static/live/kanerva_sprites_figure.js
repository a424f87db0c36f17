/* Two sprites to drag, the memory's answer, and what each of four machines says alone: <div data-live="kanerva_sprites">. */
(function () {
  "use strict";
  const { element, choice, button, status, roving, draggable, picture, shownAs, network, figure } = Live;
  const { rows, sigmoid, argmax } = Arithmetic;
  const { weights, percent } = KanervaParts;
  const NOBODY = "nobody", OWN = "own", FULL = "full", KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  /** The picture of sprites at their positions, x from the left and y from the top: as `draw` of mini_lib.kanerva.dsprites.
      A sprite has a stamp for every pixel of a block at which its box can begin, row by row. */
  function drawn(stamps, positions, { size, margin, block }) {
    const image = new Float32Array(size * size);
    stamps.forEach((phases, s) => {
      const [x, y] = positions[s].map((v) => v - margin), [column, row] = [x, y].map((v) => Math.floor(v / block));
      const stamp = phases[block * (y - block * row) + x - block * column], side = Math.sqrt(stamp.length);
      stamp.forEach((v, i) => {
        const r = row + Math.floor(i / side), c = column + (i % side);
        if (v && r >= 0 && r < size && c >= 0 && c < size) image[r * size + c] = 1;
      });
    });
    return image;
  }

  /** What the memory answers to a picture: gamma, the logits of all machines together, and of each alone: with its weight, or in `full`. */
  function answer(net, episode, image, full = false) {
    const { code, parts, weights: { gamma } } = Kanerva.ask(net, episode, Kanerva.convolve(net, image));
    const alone = parts.map((part, i) => Kanerva.deconvolve(net, part.map((v) => (full ? 1 : gamma[i]) * v)));
    return { gamma, logits: Kanerva.deconvolve(net, code), alone };
  }

  /** An episode after these pictures were written. */
  const tell = (net, ridge, images) => images.reduce((before, image) =>
    Kanerva.store(net, before, Kanerva.convolve(net, image)).episode, Kanerva.begin(net, ridge));

  function start(box, parcel) {
    const { facts } = parcel, { ridge, last, names } = facts, net = network(parcel, "network"), S = 2;
    const phases = facts.block ** 2, stamps = rows(parcel.tensors.stamps), places = rows(parcel.tensors.positions);
    const now = { episode: 0, forgotten: NOBODY, weight: OWN, at: [] }, told = new Map(), says = status();
    const canvas = element("canvas", { class: "live-stage live-light", width: facts.size, height: facts.size, "aria-hidden": "true" });
    const stage = element("div", { class: "live-sprites", role: "group", "aria-label": "The picture that you ask with" }, canvas);
    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Pictures that were written" });
    const answers = element("div", { class: "live-pictures" }), together = element("div"), bars = element("div");

    const shapes = () => Array.from({ length: S }, (_, s) => stamps.slice((S * now.episode + s) * phases, (S * now.episode + s + 1) * phases));
    const written = () => places.slice(now.episode * facts.items, (now.episode + 1) * facts.items).map((each) => [[each[0], each[1]], [each[2], each[3]]]);
    const image = (at) => drawn(shapes(), at, facts);

    /** The memory in which the chosen episode was written, and what one machine has forgotten. */
    function memory() {
      if (!told.has(now.episode)) told.set(now.episode, tell(net, ridge, written().map(image)));
      const episode = told.get(now.episode);
      return now.forgotten === NOBODY ? episode : Kanerva.forget(net, episode, Number(now.forgotten));
    }

    function choose(episode) {
      now.episode = Number(episode);
      shelf.replaceChildren(...roving(written().map((at, i) => button("", () => { now.at = at.map((each) => [...each]); draw(); },
        { "aria-label": `picture ${i + 1} of ${facts.items}` }, picture("", paper(image(at)), 3)))));
      const apart = written().map(([[x, y], [u, v]]) => (x - u) ** 2 + (y - v) ** 2);
      now.at = written()[argmax(apart)].map((each) => [...each]);
      draw();
    }

    /** Ink on white, in both themes, as in the figures beside it. */
    const paper = (values) => { const white = Array.from(values, (v) => 1 - v); return [...white, ...white, ...white]; };
    const cost = (logits, truth) => Kanerva.nats(logits, truth);

    function draw() {
      const asked = image(now.at), { gamma, logits, alone } = answer(net, memory(), asked, now.weight === FULL);
      const here = picture("", paper(asked), 3);
      canvas.getContext("2d").drawImage(here, 0, 0);
      handles.forEach((each, s) => {
        const [x, y] = now.at[s], share = (v) => `${(100 * (v - facts.margin + 16)) / (facts.block * facts.size)}%`;
        each.style.left = share(x);
        each.style.top = share(y);
        each.setAttribute("aria-label", `${names[now.episode][s]} at ${x} from the left and ${y} from the top; arrow keys move it`);
      });
      const shown = (words, values, more) => {
        const made = shownAs(words, picture(`picture of ${words}`, paper(values.map(sigmoid)), 3));
        if (more) made.classList.add("live-of", more);
        return made;
      };
      together.replaceChildren(shown("all machines together", logits));
      answers.replaceChildren(...alone.map((each, i) => shown(`machine ${i + 1} alone`, each, `live-machine-${i + 1}`)));
      bars.replaceChildren(weights(gamma));
      [...shelf.children].forEach((each, i) => each.setAttribute("aria-pressed", String(String(written()[i]) === String(now.at))));
      const most = argmax(gamma), whole = now.forgotten === NOBODY ? null : cost(answer(net, told.get(now.episode), asked).logits, asked);
      const price = `The answer costs ${cost(logits, asked).toFixed(0)} nats`;
      says.textContent = whole === null ? `Machine ${most + 1} has ${percent(gamma[most])} of the weight. ${price}.`
        : `Machine ${Number(now.forgotten) + 1} has forgotten. ${price}; when nobody forgets, ${whole.toFixed(0)}.`;
    }

    /** A sprite moves as far as its place can go. */
    function move(s, x, y) {
      now.at[s] = [x, y].map((v) => Math.max(0, Math.min(last, Math.round(v))));
      draw();
    }

    const handles = Array.from({ length: S }, (_, s) => {
      const made = button("", () => {}, {
        class: `live-handle live-handle-${s + 1}`,
        onkeydown: (event) => {
          const by = KEYS[event.key], [x, y] = now.at[s], far = event.shiftKey ? 4 : 1;
          if (!by) return;
          event.preventDefault();
          move(s, x + far * by[0], y + far * by[1]);
        },
      });
      draggable(made, (event) => {
        event.preventDefault();
        made.focus();
        const scale = (facts.block * facts.size) / stage.clientWidth, [x, y] = now.at[s];
        return (later) => move(s, x + scale * (later.clientX - event.clientX), y + scale * (later.clientY - event.clientY));
      });
      return made;
    });
    stage.append(...handles);

    const machines = [[NOBODY, "no machine"], ...Array.from({ length: net.log_psi.data.length }, (_, i) => [i, `machine ${i + 1}`])];
    const titles = names.map((pair, i) => [i, pair.join(" and ")]), ways = [[OWN, "with its weight"], [FULL, "at full weight"]];
    box.append(
      element("div", { class: "live-controls" }, choice("Sprites", titles, now.episode, choose),
        choice("Forgotten by", machines, now.forgotten, (value) => { now.forgotten = value; draw(); }),
        choice("Machines alone", ways, now.weight, (value) => { now.weight = value; draw(); })),
      element("p", { class: "live-note" }, "Drag the two sprites. The memory answers what it remembers. At the bottom are the fifteen pictures that it was given."),
      element("div", { class: "live-columns" }, stage, together), answers, bars, says, shelf);
    choose(0);
  }

  window.KanervaSpritesFigure = { drawn, answer, tell };
  figure("kanerva_sprites", start);
})();
