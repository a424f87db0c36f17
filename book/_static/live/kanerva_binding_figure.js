/* Which of two machines answers, in two networks side by side: <div data-live="kanerva_binding">. */
(function () {
  "use strict";
  const { element, choice, slider, button, status, roving, picture, shownAs, network, figure } = Live;
  const { rows, sigmoid, argmax } = Arithmetic;
  const { channel, query, tell, answer, percent, GREEN, COLORS } = KanervaParts;
  const SAME = "same", NONE = "none";
  const OFFERED = 20, FIRST = 13; // items to choose from, and the one to start with
  // What is compared stays side by side on a narrow page too, and the pictures shrink.
  const SIDES = "display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.3rem 1rem";
  const ROW = "--size: clamp(2.9rem, 12vw, 5.4rem); flex-wrap: nowrap; gap: 0.25rem";

  /** What the green digit of an item costs, in nats. */
  const greenCost = (logits, item) => Kanerva.nats(channel(logits, GREEN), channel(item, GREEN));

  /** What green costs, if each of these items is asked for. */
  function greenCosts(net, episode, items) {
    const said = (item) => Kanerva.decode(net, Kanerva.ask(net, episode, Kanerva.encode(net, query(item, item))).code);
    return items.map((item) => greenCost(said(item), item));
  }

  /** The mean of all costs, and of those of each machine's items, where both have some. */
  function averages(costs, gammas) {
    const mean = (some) => (some.reduce((total, each) => total + each, 0) / some.length).toFixed(0);
    const own = gammas[0].map((_, machine) => costs.filter((_, i) => argmax(gammas[i]) === machine));
    const split = own.every((some) => some.length) ? ` (items of machine 1: ${mean(own[0])}, of machine 2: ${mean(own[1])})` : "";
    return `Mean of all items: ${mean(costs)} nats${split}.`;
  }

  const name = (i) => `item ${i + 1}`;
  const green = (values) => [...values.map(() => 0), ...values, ...values.map(() => 0)];

  function start(box, parcel) {
    const { facts } = parcel, items = rows(parcel.tensors.triplets), labels = rows(parcel.tensors.labels);
    const shown = { written: items.length, red: FIRST, blue: SAME, forgotten: NONE };
    const sides = facts.networks.map(({ name, title }) => {
      const net = network(parcel, name), told = status(), mean = element("p", { class: "live-note" });
      const place = element("div", { class: "live-pictures", style: ROW }), thorns = element("div", {});
      const all = element("section", { "aria-label": `The network ${title}` },
        element("p", { class: "live-name" }, title[0].toUpperCase() + title.slice(1)), place, told, mean, thorns);
      return { net, told, place, mean, thorns, all, costs: {}, ...tell(net, facts.ridge, items) };
    });
    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Items to ask for", style: "--size: 3.3rem" });
    const pictures = element("div", { class: "live-pictures", style: "--size: clamp(3.6rem, 14vw, 5.4rem)" });
    shelf.append(...roving(items.slice(0, OFFERED).map((item, i) => {
      const [red, green, blue] = labels[i], said = `${name(i)}: red ${red}, green ${green}, blue ${blue}`;
      return button("", () => { shown.red = i; draw(); }, { "aria-label": said }, picture("", item, COLORS),
        element("span", { "aria-hidden": "true" }, String(i + 1)));
    })));

    function draw() {
      const { red, written } = shown, blue = shown.blue === SAME ? red : Number(shown.blue), both = [...new Set([red, blue])];
      const image = query(items[red], items[blue]);
      [...shelf.children].forEach((each, i) => {
        each.setAttribute("aria-pressed", String(i === red));
        each.classList.toggle("live-unwritten", i >= written);
      });
      const whose = red === blue ? `question: red ${labels[red][0]} and blue ${labels[red][2]} of ${name(red)}`
        : `question: red ${labels[red][0]} of ${name(red)}, blue ${labels[blue][2]} of ${name(blue)}`;
      const truths = both.map((i) => {
        const made = picture(`the green digit of ${name(i)}`, green(channel(items[i], GREEN)), COLORS);
        return shownAs(`green of ${name(i)}: ${labels[i][GREEN]}${i < written ? "" : " (not written)"}`, made);
      });
      pictures.replaceChildren(shownAs(whose, picture("the question, with no green", image, COLORS)), ...truths);
      sides.forEach((side) => show(side, image, red, both));
    }

    /** One network's answer: what both machines say together, and each alone. */
    function show({ net, episodes, place, told, mean, thorns, gammas, costs }, image, red, both) {
      const { written, forgotten } = shown;
      const episode = forgotten === NONE ? episodes[written] : Kanerva.forget(net, episodes[written], Number(forgotten));
      const { gamma, logits, alone } = answer(net, episode, image);
      const said = (who, words, each, kind = "") => {
        const light = each.map(sigmoid), own = green(channel(light, GREEN));
        const made = shownAs(words, picture(`answer of ${who}`, light, COLORS), picture(`green in the answer of ${who}`, own, COLORS));
        if (kind) made.classList.add("live-of", kind);
        return made;
      };
      const single = alone.map((each, i) => said(`machine ${i + 1} alone`, `${i + 1}: ${percent(gamma[i])}`, each, `live-machine-${i + 1}`));
      place.replaceChildren(said("both machines", "both", logits), ...single);
      told.textContent = sentence(logits, both);
      const key = `${written} ${forgotten}`;
      costs[key] ??= greenCosts(net, episode, items.slice(0, written));
      mean.textContent = written ? averages(costs[key], gammas) : "";
      thorns.replaceChildren(stems(gammas.slice(0, written), both, items.length));
    }

    function sentence(logits, both) {
      return both.map((i) => `Green of ${name(i)}: ${greenCost(logits, items[i]).toFixed(0)} nats.`).join(" ");
    }

    const note = "Each network: the answer of both machines, then of each alone with its weight; below, the green in it. "
      + `A fixed guess of the green digit costs ${facts.fixed.toFixed(0)} nats. `
      + "Thorns: the weight of each machine in writing an item; a dot marks the item that is asked for.";
    const blues = [[SAME, "the same item"], ...items.slice(0, OFFERED).map((_, i) => [i, name(i)])];
    const machines = [[NONE, "no machine"], [0, "machine 1"], [1, "machine 2"]];
    box.append(
      element("div", { class: "live-controls" },
        choice("Forgotten by", machines, shown.forgotten, (value) => { shown.forgotten = value; draw(); }),
        choice("Blue digit of", blues, shown.blue, (value) => { shown.blue = value; draw(); }),
        slider("Items written", { min: 0, max: items.length, value: shown.written }, (n) => { shown.written = n; draw(); })),
      shelf, pictures, element("div", { class: "live-sides", style: SIDES }, sides.map(({ all }) => all)),
      element("p", { class: "live-note" }, note));
    draw();
    shelf.scrollTop = shelf.children[shown.red].offsetTop - shelf.offsetTop; // on a phone, where the shelf scrolls
  }

  const LEGIBLE = "font-size: clamp(11px, 26px - 1.2vw, 20px)"; // in units of the drawing, which shrinks with the page
  const WIDE = 300, HIGH = 110, MIDDLE = 50, TALL = 40;

  /** A thorn up and one down for every item that was written: the weights of machine 1 and machine 2. */
  function stems(gammas, asked, room) {
    const x = (i) => 16 + ((WIDE - 24) * i) / (room - 1), first = gammas.filter((gamma) => gamma[0] >= gamma[1]).length;
    const said = `When they were written, machine 1 had the larger weight in ${first} of ${gammas.length} items.`;
    const thorn = (kind, i, length) =>
      element("line", { class: `live-line live-thorn live-machine-${kind}`, x1: x(i), x2: x(i), y1: MIDDLE, y2: MIDDLE + TALL * length });
    const dot = (i) => element("circle", { class: "live-asked", cx: x(i), cy: HIGH - 10, r: 3.5 });
    const marks = asked.filter((i) => i < gammas.length).map(dot);
    return element("svg", { class: "live-stems", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said },
      element("line", { class: "live-grid", x1: 10, x2: WIDE, y1: MIDDLE, y2: MIDDLE }),
      gammas.flatMap(([up, down], i) => [thorn(1, i, -up), thorn(2, i, down)]),
      ["1", "2"].map((each, i) => element("text", { x: 0, y: 16 + 76 * i, style: LEGIBLE }, each)), marks);
  }

  window.KanervaBindingFigure = { greenCost, greenCosts };
  figure("kanerva_binding", start);
})();
