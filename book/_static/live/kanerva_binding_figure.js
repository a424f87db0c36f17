/* Which of two machines answers, in two networks side by side: <div data-live="kanerva_binding">. */
(function () {
  "use strict";
  const { element, choice, slider, button, status, roving, picture, shownAs, network, figure } = Live;
  const { rows, sigmoid, argmax } = Arithmetic;
  const { channel, query, tell, answer, percent, GREEN, COLOURS } = KanervaParts;
  const SAME = "same", NONE = "none";
  const CLEAR = 0.8, FOUND = 0.5; // the weight that is called clear; a digit is retrieved below this part of a guess
  const THORNS = "Weights of both machines when each item was written. A dot marks what is asked for.";

  /** What the green digit of an item costs, in nats. */
  const greenCost = (logits, item) => Kanerva.nats(channel(logits, GREEN), channel(item, GREEN));

  /** What green costs, if each of these items is asked for. */
  function greenCosts(net, episode, items) {
    const said = (item) => Kanerva.decode(net, Kanerva.ask(net, episode, Kanerva.encode(net, query(item, item))).code);
    return items.map((item) => greenCost(said(item), item));
  }

  /** One sentence: the mean of all costs, and of those of each machine's items, where both have some. */
  function averages(costs, gammas) {
    const mean = (some) => (some.reduce((total, each) => total + each, 0) / some.length).toFixed(0);
    const own = gammas[0].map((_, machine) => costs.filter((_, i) => argmax(gammas[i]) === machine));
    const parts = own.map((some, machine) => `${mean(some)} for ${some.length} items of machine ${machine + 1}`);
    const split = own.every((some) => some.length) ? `: ${parts.join(", and ")}` : "";
    return `Over all written items green costs ${mean(costs)} nats on average${split}.`;
  }

  const name = (i) => `item ${i + 1}`;
  const green = (values) => [...values.map(() => 0), ...values, ...values.map(() => 0)];

  function start(box, parcel) {
    const { facts } = parcel, items = rows(parcel.tensors.triplets), labels = rows(parcel.tensors.labels);
    const shown = { written: items.length, red: 0, blue: SAME, forgotten: NONE };
    const sides = facts.networks.map(({ name, title, about }) => {
      const net = network(parcel, name), told = status(), mean = element("p", {});
      const place = element("div", { class: "live-pictures" }), thorns = element("div", {});
      const all = element("section", { "aria-label": `The network ${title}` },
        element("p", { class: "live-name" }, title[0].toUpperCase() + title.slice(1)), element("p", { class: "live-note" }, about),
        place, told, mean, thorns, element("p", { class: "live-note" }, THORNS));
      return { net, told, place, mean, thorns, all, costs: {}, ...tell(net, facts.ridge, items) };
    });
    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Items to ask for" });
    const asked = element("p", {}), pictures = element("div", { class: "live-pictures" });
    shelf.append(...roving(items.map((item, i) => {
      const [red, green, blue] = labels[i], said = `${name(i)}: red ${red}, green ${green}, blue ${blue}`;
      return button("", () => { shown.red = i; draw(); }, { "aria-label": said }, picture("", item, COLOURS));
    })));

    function draw() {
      const { red, written } = shown, blue = shown.blue === SAME ? red : Number(shown.blue), both = [...new Set([red, blue])];
      const image = query(items[red], items[blue]);
      [...shelf.children].forEach((each, i) => {
        each.setAttribute("aria-pressed", String(i === red));
        each.classList.toggle("live-unwritten", i >= written);
      });
      const whose = red === blue ? `the red and the blue digit of ${name(red)} (${labels[red][0]} and ${labels[red][2]})`
        : `the red digit of ${name(red)} (${labels[red][0]}) and the blue digit of ${name(blue)} (${labels[blue][2]})`;
      const missing = both.filter((i) => i >= written).map((i) => ` Not written yet: ${name(i)}.`);
      asked.textContent = `Query: ${whose}.${missing.join("")}`;
      const truths = both.map((i) => {
        const made = picture(`the green digit of ${name(i)}`, green(channel(items[i], GREEN)), COLOURS);
        return shownAs(`green of ${name(i)}: ${labels[i][GREEN]}`, made);
      });
      pictures.replaceChildren(shownAs("query", picture("the query, with no green", image, COLOURS)), ...truths);
      sides.forEach((side) => show(side, image, red, both));
    }

    /** One network's answer: what both machines say together, and each alone. */
    function show({ net, episodes, place, told, mean, thorns, gammas, costs }, image, red, both) {
      const { written, forgotten } = shown;
      const episode = forgotten === NONE ? episodes[written] : Kanerva.forget(net, episodes[written], Number(forgotten));
      const { gamma, logits, alone } = answer(net, episode, image);
      const said = (who, more, each, kind = "") => {
        const light = each.map(sigmoid), own = green(channel(light, GREEN));
        const made = shownAs(who + more, picture(`answer of ${who}`, light, COLOURS), picture(`green in the answer of ${who}`, own, COLOURS));
        if (kind) made.classList.add("live-of", kind);
        return made;
      };
      const single = alone.map((each, i) => said(`machine ${i + 1} alone`, `, weight ${percent(gamma[i])}`, each, `live-machine-${i + 1}`));
      place.replaceChildren(said("both machines", "", logits), ...single);
      told.textContent = sentence(gamma, logits, red, both, gammas);
      const key = `${written} ${forgotten}`;
      costs[key] ??= greenCosts(net, episode, items.slice(0, written));
      mean.textContent = written ? averages(costs[key], gammas) : "";
      thorns.replaceChildren(stems(gammas.slice(0, written), both, items.length));
    }

    function sentence(gamma, logits, red, both, gammas) {
      const most = argmax(gamma), costs = both.map((i) => greenCost(logits, items[i])), found = costs.filter((each) => each < FOUND * facts.fixed).length;
      const who = gamma[most] > CLEAR ? `Machine ${most + 1} has ${percent(gamma[most])} of the weight.` : `The weights are ${gamma.map(percent).join(" and ")}.`;
      const home = red < shown.written ? ` Machine ${argmax(gammas[red]) + 1} had most of ${name(red)} when it was written.` : "";
      const priced = costs.map((each, k) => `the green digit of ${name(both[k])} costs ${each.toFixed(0)} nats`).join(", ");
      const verdict = costs.length === 1 ? (found ? "it is retrieved" : "it is not retrieved") : ["neither is retrieved", "one is retrieved", "both are retrieved"][found];
      return `${who}${home} In this answer ${priced}: ${verdict}.`;
    }

    const note = "Below: the answer of both machines and of each alone, with the green digit of each underneath. "
      + `Guessing costs ${facts.fixed.toFixed(0)} nats; a digit that costs less than half of this counts as retrieved.`;
    const blues = [[SAME, "the same item"], ...items.map((_, i) => [i, name(i)])];
    const machines = [[NONE, "no machine"], [0, "machine 1"], [1, "machine 2"]];
    box.append(element("div", { class: "live-controls" },
      slider("Items written", { min: 0, max: items.length, value: shown.written }, (n) => { shown.written = n; draw(); }),
      choice("Blue digit of", blues, shown.blue, (value) => { shown.blue = value; draw(); }),
      choice("Forgotten by", machines, shown.forgotten, (value) => { shown.forgotten = value; draw(); })),
    shelf, asked, pictures, element("p", { class: "live-note" }, note),
    element("div", { class: "live-columns live-sides" }, sides.map(({ all }) => all)));
    draw();
  }

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
      element("text", { x: 0, y: 14 }, "1"), element("text", { x: 0, y: 92 }, "2"), marks);
  }

  window.KanervaBindingFigure = { greenCost, greenCosts };
  figure("kanerva_binding", start);
})();
