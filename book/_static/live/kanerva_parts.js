/* What several figures of the Product Kanerva Machine share: a pad of pixels, episodes, and bars of weights. */
(function () {
  "use strict";
  const { element, button, roving } = Live;
  const COLORS = 3, GREEN = 1;
  const STRIDE = 4; // pixels: less than a square of a pad

  /** Small squares to draw in, and to hide. `change` is called after every change of the image or of what is hidden. */
  function pad(label, change) {
    const all = element("div", { class: "live-pad", role: "group", "aria-label": label });
    let side, cells, pen = "draw", stroke = null, last = null; // the event of a stroke before
    const own = { all, image: [], hidden: [], set, hide, use: (chosen) => { pen = chosen; } };

    function show(i) {
      const said = [own.image[i] ? "ink" : "empty", ...(own.hidden[i] ? ["hidden"] : [])].join(", ");
      cells[i].className = `${own.image[i] ? "live-ink" : ""} ${own.hidden[i] ? "live-hidden" : ""}`;
      cells[i].setAttribute("aria-label", `row ${Math.floor(i / side) + 1}, column ${(i % side) + 1}: ${said}`);
    }

    function set(image) {
      own.image = Array.from(image);
      own.hidden = own.image.map(() => false);
      if (side !== Math.sqrt(own.image.length)) {
        side = Math.sqrt(own.image.length);
        cells = roving(own.image.map((_, i) => button("", (event) => { if (!event.detail) { stroke = null; touch([i]); } })), side);
        all.style.setProperty("--side", side);
        all.replaceChildren(...cells);
      }
      cells.forEach((_, i) => show(i));
      change();
    }

    function hide(place) {
      own.hidden = own.image.map((_, i) => place(Math.floor(i / side), i % side, side));
      cells.forEach((_, i) => show(i));
      change();
    }

    /** The pen at these places; a stroke goes on doing what it did first. */
    function touch(places) {
      const values = pen === "draw" ? own.image : own.hidden;
      let changed = false;
      for (const i of places) {
        stroke ??= !values[i];
        if (Boolean(values[i]) === stroke) continue;
        values[i] = pen === "draw" ? Number(stroke) : stroke;
        show(i);
        changed = true;
      }
      if (changed) change();
    }

    /** The squares from where the pen was last to where it is, so that a quick stroke leaves no gap. */
    function passed(event) {
      const way = [event.clientX - last.clientX, event.clientY - last.clientY], steps = Math.ceil(Math.hypot(...way) / STRIDE) || 1;
      const at = (step) => document.elementFromPoint(last.clientX + (step / steps) * way[0], last.clientY + (step / steps) * way[1]);
      return Array.from({ length: steps }, (_, step) => cells.indexOf(at(step + 1))).filter((i) => i >= 0);
    }

    function draw(event) {
      const places = passed(event);
      last = event;
      touch(places);
    }

    all.addEventListener("pointerdown", (event) => {
      if (!event.isPrimary) return;
      [stroke, last] = [null, event];
      draw(event);
    });
    all.addEventListener("pointermove", (event) => { if (event.isPrimary && last) draw(event); });
    all.addEventListener("pointerenter", (event) => { if (event.isPrimary) last = last && event.buttons ? event : null; });
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => { last = null; });
    return own;
  }

  /** One channel of an image of three. */
  const channel = (image, c) => Array.from(image).slice((c * image.length) / COLORS, ((c + 1) * image.length) / COLORS);

  /** The query: the red digit of one item, the blue digit of another, and no green one. */
  const query = (red, blue) => [...channel(red, 0), ...channel(red, GREEN).map(() => 0), ...channel(blue, 2)];

  /** All that a network goes through while it writes these items: episodes[n], after n of them, and gamma of each item. */
  function tell(net, ridge, items) {
    const episodes = [Kanerva.begin(net, ridge)], gammas = [];
    for (const item of items) {
      const { episode, weights } = Kanerva.store(net, episodes[episodes.length - 1], Kanerva.encode(net, item));
      episodes.push(episode);
      gammas.push(weights.gamma);
    }
    return { episodes, gammas };
  }

  /** What a network answers: gamma, the logits of both machines together, and of each alone, the other at 0. */
  function answer(net, episode, image) {
    const { code, parts, weights: { gamma } } = Kanerva.ask(net, episode, Kanerva.encode(net, image));
    return { gamma, logits: Kanerva.decode(net, code), alone: parts.map((part, i) => Kanerva.decode(net, part.map((v) => gamma[i] * v))) };
  }

  const percent = (v) => `${Math.round(100 * v)}\u00a0%`;

  /** The weights of the machines, side by side: one bar, a color for each machine. */
  function weights(gamma) {
    const part = (v, i) => element("span", { class: `live-machine live-machine-${i + 1}`, style: `flex-grow: ${v}`, "aria-hidden": "true" });
    const words = gamma.map((v, i) => element("span", { class: `live-word live-machine-${i + 1}` }, `machine ${i + 1}: ${percent(v)}`));
    return element("div", { class: "live-weights" }, element("div", {}, gamma.map(part)), element("div", {}, words));
  }

  window.KanervaParts = { pad, channel, query, tell, answer, percent, weights, COLORS, GREEN };
})();
