/* A memory that you write digits to, ask with a part of one, and whose certainty you see: <div data-live="kanerva">. */
(function () {
  "use strict";
  const { element, choice, slider, button, status, roving, picture: sharp, shownAs, figure } = Live;
  const { rows } = Arithmetic;
  const { pad } = KanervaParts;
  const BETWEEN = [["keep", "puts the known part back"], ["round", "rounds the pixels"], ["plain", "does nothing"]];
  const SHELF = "Digits to choose. Under a digit that you wrote: what the memory reads back, and its number.";
  const PARTS = [["lower half", (row, _, side) => row >= side / 2], ["right half", (_, column, side) => column >= side / 2]];

  /** Eight pixels a side, drawn smooth. */
  function picture(label, values) {
    const made = sharp(label, values);
    made.style.imageRendering = "auto";
    return made;
  }

  /** The memories to choose from. Each can `begin` an episode, `store` a code in it and `ask` it; codes come from `encode`. */
  function memories(parcel) {
    const { tensors, facts: { mean, scale, eta, ridge, columns } } = parcel, weights = Kanerva.weightsOf([eta]);
    return columns.map((M) => ({
      name: String(M), title: `${M} columns`, digits: rows(tensors["digits/8"]), mean,
      begin: () => ({ memory: Kanerva.empty(tensors[`means/${M}`], [1], ridge) }),
      encode: (image) => Float64Array.from(image, (v, i) => (v - mean[i]) / scale),
      decode: (code) => code.map((v, i) => v * scale + mean[i]),
      store: ({ memory }, z) => ({ memory: Kanerva.write(memory, z, weights).memory }),
      ask: ({ memory }, z) => Kanerva.read(memory, z, weights.gamma),
    }));
  }

  const distance = (a, b, places = [...a.keys()]) => places.reduce((total, i) => total + (a[i] - b[i]) ** 2, 0);

  /** The error of an answer in some places, as a multiple of what the mean digit has there. */
  const errorOf = (kind, answer, image, places) => distance(answer, image, places) / distance(kind.mean, image, places);

  /** The error of a memory's answer to a whole image. */
  const missed = (kind, episode, image) => errorOf(kind, kind.decode(kind.ask(episode, kind.encode(image)).code), image);

  /** The answers to an image of which places are hidden: each answer, after what happens in between, is the next query. */
  function settle(kind, episode, image, hidden, times, between) {
    const ways = { plain: (v) => v, round: (v) => (v > 0.5 ? 1 : 0), keep: (v, i) => (hidden[i] ? v : image[i]) }, answers = [];
    let query = Array.from(image, (v, i) => (hidden[i] ? kind.mean[i] : v));
    while (answers.length < times) {
      const answer = Array.from(kind.decode(kind.ask(episode, kind.encode(query)).code));
      answers.push(answer);
      query = answer.map(ways[between]);
    }
    return answers;
  }

  function number(v) {
    if (v < 0.0005) return "less than 0.001";
    return v < 10 ? v.toPrecision(v < 0.01 ? 1 : 2) : v.toFixed(0);
  }

  const digitsOf = (n) => (n === 1 ? "1 digit" : `${n} digits`);

  function start(box, parcel) {
    const kinds = memories(parcel), shown = { readings: 12, between: "keep" };
    const told = status(), answers = element("div", { class: "live-pictures" });
    const shelf = element("div", { class: "live-shelf", role: "group", "aria-label": "Digits to take", style: "--size: 2.8rem" });
    const course = element("div", {});
    const paper = pad("The digit to write or to ask with", () => drawAnswers());
    let kind, states, items; // states[n]: the episode after n digits; items: {image, place}, the place at which it was written

    function forget() {
      states = [kind.begin()];
      items = kind.digits.map((image) => ({ image, place: null }));
    }

    function choose(name) {
      kind = kinds.find((each) => each.name === name);
      forget();
      drawShelf();
      paper.set(items[0].image);
    }

    const now = () => states[states.length - 1];
    const same = (a, b) => a.every((v, i) => v === b[i]);
    const found = () => items.find(({ image }) => same(paper.image, image));

    function write(item) {
      states.push(kind.store(now(), kind.encode(item.image)));
      item.place ??= states.length - 1;
    }

    function writePad() {
      if (!found()) items.push({ image: Float32Array.from(paper.image), place: null });
      write(found());
      drawShelf();
      drawAnswers();
    }

    function writeMore() {
      items.filter(({ place }) => place === null).slice(0, 10).forEach(write);
      drawShelf();
      drawAnswers();
    }

    function drawShelf() {
      const made = items.map(({ image, place }, i) => {
        const written = place !== null, said = `digit ${i + 1}${written ? `, written as number ${place}` : ", not written"}`;
        const made = button("", () => paper.set(image), { "aria-label": said, class: written ? "live-written" : "" }, picture("", image));
        const [back] = written ? settle(kind, now(), image, [], 1, "plain") : [];
        if (written) made.append(picture("", back), element("span", { "aria-hidden": "true" }, String(place)));
        return made;
      });
      shelf.replaceChildren(...roving(made));
    }

    function drawAnswers() {
      const all = settle(kind, now(), paper.image, paper.hidden, shown.readings, shown.between), last = all[all.length - 1];
      const named = [["read once", all[0]], ...(all.length > 1 ? [[`read ${all.length} times`, last]] : [])];
      answers.replaceChildren(...named.map(([name, values]) => shownAs(name, picture(`what is ${name}`, values))));
      [...shelf.children].forEach((each, i) => each.setAttribute("aria-pressed", String(items[i] === found())));
      told.textContent = sentence(last);
      course.hidden = states.length === 1;  // nothing to draw yet
      const history = states.map((episode) => missed(kind, episode, paper.image));
      course.replaceChildren(chart(history, states.map(({ memory }) => Kanerva.spread(memory)), found()?.place ?? null));
    }

    function sentence(answer) {
      const place = found()?.place ?? null, n = states.length - 1;
      const held = n ? `${digitsOf(n)} written, this one ${place === null ? "not" : `as number ${place}`}.` : "Nothing is written yet.";
      const places = [...paper.hidden.keys()].filter((i) => paper.hidden[i]), part = places.length ? places : [...paper.image.keys()];
      const what = places.length ? "hidden part" : "whole digit", whole = distance(kind.mean, paper.image, part);
      const misses = whole ? `Error of the answer in the ${what}: ${number(errorOf(kind, answer, paper.image, part))}; the mean digit has 1.`
        : `The ${what} is that of the mean digit.`;
      return `${held} ${misses}`;
    }

    box.append(
      element("div", { class: "live-controls" },
        choice("Memory", kinds.map(({ name, title }) => [name, title]), "15", choose),
        button("Write it", writePad), button("Write ten more", writeMore),
        button("Forget all", () => { forget(); drawShelf(); drawAnswers(); })),
      shelf, element("p", { class: "live-note" }, SHELF),
      element("div", { class: "live-columns" },
        element("div", {}, paper.all,
          element("div", { class: "live-controls live-tools" },
            choice("Pen", [["draw", "draws"], ["hide", "hides"]], "draw", paper.use),
            button("Clear", () => paper.set(kind.mean.map(() => 0))),
            PARTS.map(([name, place]) => button(`Hide ${name}`, () => paper.hide(place))),
            button("Show all", () => paper.hide(() => false)))),
        element("div", {}, answers,
          element("details", {}, element("summary", {}, "More"), element("div", { class: "live-controls live-tools" },
            slider("Readings", { min: 1, max: 12, value: shown.readings }, (times) => { shown.readings = times; drawAnswers(); }),
            choice("Between them it", BETWEEN, shown.between, (name) => { shown.between = name; drawAnswers(); }))))),
      told, course);
    choose("15");
  }

  const WIDE = 360, HIGH = 200, LEFT = 40, BOTTOM = 170, TOP = 10, RIGHT = 350, LOW = -3, TALL = 0;

  /** After each digit: the error of the answer to this one, and the columns' variance. */
  function chart(errors, spreads, place) {
    const longest = Math.max(10, errors.length - 1);
    const x = (n) => LEFT + ((RIGHT - LEFT) * n) / longest;
    const y = (v) => BOTTOM - ((BOTTOM - TOP) * (Math.min(TALL, Math.max(LOW, Math.log10(v))) - LOW)) / (TALL - LOW);
    const line = (name, values) => [
      element("polyline", { class: `live-line live-${name}`, points: values.map((v, n) => `${x(n)},${y(v)}`).join(" ") }),
      element("circle", { class: `live-dot live-${name}`, cx: x(values.length - 1), cy: y(values[values.length - 1]), r: 3 }),
    ];
    const [error, columns] = [errors, spreads].map((each) => number(each[each.length - 1]));
    const said = `After ${digitsOf(errors.length - 1)}: error ${error}, columns' variance ${columns}.`;
    const levels = [-3, -2, -1, 0].flatMap((power) => [
      element("line", { class: "live-grid", x1: LEFT, x2: RIGHT, y1: y(10 ** power), y2: y(10 ** power) }),
      element("text", { x: LEFT - 4, y: y(10 ** power) + 4, "text-anchor": "end" }, String(10 ** power)),
    ]);
    const ends = [0, longest].map((n) => element("text", { x: x(n), y: BOTTOM + 14, "text-anchor": "middle" }, String(n)));
    const left = 2 * place > longest, at = left ? { x: x(place) - 3, "text-anchor": "end" } : { x: x(place) + 3 };
    const mark = place === null ? [] : [element("line", { class: "live-when", x1: x(place), x2: x(place), y1: TOP, y2: BOTTOM }),
      element("text", { ...at, y: TOP + 10 }, "written")];
    const sample = (name, text) => element("span", { class: "live-key" }, element("svg", { viewBox: "0 0 30 8", "aria-hidden": "true" },
      element("line", { class: `live-line live-${name}`, x1: 0, x2: 30, y1: 4, y2: 4 })), text);
    return element("div", {},
      element("p", { class: "live-keys" }, sample("error", "error of this digit, asked for as a whole"),
        sample("spread", "mean variance of the columns, 1 at first")),
      element("svg", { class: "live-chart", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said },
        levels, ends, mark,
        element("text", { x: (LEFT + RIGHT) / 2, y: BOTTOM + 28, "text-anchor": "middle" }, "digits written"),
        line("error", errors), line("spread", spreads)));
  }

  window.KanervaFigure = { memories, missed, settle };
  figure("kanerva", start);
})();
