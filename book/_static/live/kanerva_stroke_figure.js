/* Twelve pixels of the red digit choose the machine: erase or ink them, and watch the weights: <div data-live="kanerva_stroke">. */
(function () {
  "use strict";
  const { element, tick, button, status, roving, picture, network, figure } = Live;
  const { rows, argmax } = Arithmetic;
  const { pad, channel, tell, percent, weights, COLORS } = KanervaParts;
  const NETWORK = "balanced", SHELF = 15, COLOR_NAMES = ["red", "green", "blue"];

  /** gamma of each item, written one after the other, as the red digit is changed by `edit`; else as they are. */
  const gammasOf = (net, ridge, items, edit = (red) => red) =>
    tell(net, ridge, items.map((item) => [...edit(channel(item, 0)), ...channel(item, 1), ...channel(item, 2)])).gammas;

  /** How many items go over to the other machine, of those of `machine`. */
  function crossed(before, after, machine) {
    const own = before.map(argmax).flatMap((each, i) => (each === machine ? [i] : []));
    return { own: own.length, over: own.filter((i) => argmax(after[i]) !== machine).length };
  }

  /** The red digit with ink (1) or without (0) at these places. */
  const put = (red, places, ink) => red.map((v, i) => (places[i] ? ink : v));

  function start(box, parcel) {
    const { facts: { ridge, stroke } } = parcel, net = network(parcel, NETWORK), items = rows(parcel.tensors.triplets);
    const { episodes, gammas } = tell(net, ridge, items), side = Math.sqrt(stroke.length);
    const mirror = stroke.map((_, i) => stroke[i - (i % side) + side - 1 - (i % side)]);
    const now = { at: 0, all: "" }, says = status(), everywhere = element("p", { role: "status" }), bars = element("div");
    const pads = COLOR_NAMES.map((name) => pad(`The ${name} digit`, () => { now.all = ""; draw(); }));
    let framed = true;

    const frame = (on = framed) => pads[0].all.classList.toggle("live-framing", (framed = on));

    function use(i) {
      now.at = null;
      pads.forEach((each, c) => each.set(channel(items[i], c)));
      [...pads[0].all.children].forEach((cell, at) => cell.toggleAttribute("data-stroke", Boolean(stroke[at])));
      Object.assign(now, { at: i, all: "" });
      draw();
    }

    function draw() {
      if (now.at === null) return;
      const before = gammas[now.at], image = pads.flatMap(({ image }) => image);
      const gamma = Kanerva.infer(net, episodes[now.at], Kanerva.encode(net, image)).gamma, most = argmax(gamma);
      const changed = image.reduce((count, v, i) => count + Number(v !== items[now.at][i]), 0);
      [...shelf.children].forEach((each, i) => each.setAttribute("aria-pressed", String(i === now.at)));
      bars.replaceChildren(weights(gamma));
      const was = changed ? ` ${changed} pixel${changed > 1 ? "s" : ""} changed; before, machine ${argmax(before) + 1} had ${percent(Math.max(...before))}.` : "";
      const over = most === argmax(before) ? "" : " The picture has gone over to the other machine.";
      says.textContent = `Machine ${most + 1} has ${percent(gamma[most])} of the weight.${was}${over}`;
      everywhere.textContent = now.all;
    }

    /** Change these pixels of the red digit here, and in all items, to count which go over. */
    function change(places, ink, what) {
      const after = gammasOf(net, ridge, items, (red) => put(red, places, ink)), from = ink ? 0 : 1, { own, over } = crossed(gammas, after, from);
      pads[0].set(put(pads[0].image, places, ink));
      now.all = `${what} in every picture: ${over} of the ${own} pictures of machine ${from + 1} go over to machine ${2 - from}.`;
      frame();
      draw();
    }

    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Pictures" });
    shelf.append(...roving(items.slice(0, SHELF).map((item, i) => {
      const machine = argmax(gammas[i]) + 1;
      return button("", () => use(i), { "aria-label": `picture ${i + 1}, of machine ${machine}`, class: `live-of live-machine-${machine}` }, picture("", item, COLORS));
    })));
    const note = "Choose a picture: the line beneath it has its machine's color. Then ink or erase pixels of its digits, and watch the weights.";
    box.append(element("p", { class: "live-note" }, note), shelf, bars,
      element("div", { class: "live-pads" }, pads.map(({ all }, c) => element("div", { class: `live-ink-${COLOR_NAMES[c]}` }, element("span", {}, COLOR_NAMES[c]), all))),
      says,
      element("div", { class: "live-controls" },
        button("Ink the twelve pixels", () => change(stroke, 1, "The twelve pixels inked")),
        button("Erase the twelve pixels", () => change(stroke, 0, "The twelve pixels erased")),
        button("Ink their mirror image", () => change(mirror, 1, "The mirror image inked")),
        button("Put it back", () => use(now.at)),
        tick("outline the twelve", frame, true)),
      everywhere);
    frame();
    use(gammas.findIndex((gamma) => argmax(gamma) === 0));
  }

  window.KanervaStrokeFigure = { gammasOf, put };
  figure("kanerva_stroke", start, ["kanerva_binding"]);
})();
