/* Three networks and a command, in which *dax* may be, and *walk* in place of *jump* in either stream: <div data-live="scan_attention">. */
(function () {
  "use strict";
  const { element, labelled, field, form, button, network, figure } = Live;
  const EXAMPLES = ["jump", "jump opposite left", "walk after jump twice", "dax around left"];
  const CELLS = [["jump", "jump"], ["jump", "walk"], ["walk", "jump"], ["walk", "walk"]];

  function start(box, parcel) {
    const { networks, ...facts } = parcel.facts, { box: shown, show } = Scan.stage(), command = field("jump opposite left", 30);
    const known = { ...facts, words: [...facts.words, "dax"] };
    let chosen = 1, draws = 1, cell = 0, mended = false;

    function run() {
      const own = network(parcel, networks[chosen]), given = mended ? Scan.withMeaning(own, facts.words, "jump", "<SOS>") : own;
      const net = Scan.withDax(given, facts.words, Arithmetic.uniform(draws));
      const put = (verb) => command.value.replace(/\bjump\b/gi, verb), [syntax, semantics] = CELLS[cell].map(put);
      for (const [group, now] of [[choices, chosen], [pairs, cell]]) group.forEach((each, i) => each.setAttribute("aria-pressed", String(i === now)));
      mend.setAttribute("aria-pressed", String(mended));
      dax.hidden = !/\bdax\b/i.test(command.value);
      both.hidden = !/\bjump\b/i.test(command.value);
      show(Scan.ask(net, known, syntax, semantics), syntax !== semantics);
    }

    const choices = networks.map((_, i) => button(`network ${i + 1}`, () => { chosen = i; mended = false; run(); }));
    const pairs = CELLS.map((pair, i) => button(pair.join(" / "), () => { cell = i; run(); }));
    const both = element("div", { class: "live-controls", role: "group", "aria-label": "In place of jump" }, "In place of jump, syntax / semantics receives:", pairs);
    const mend = button("Give jump the meaning of <SOS>", () => { mended = !mended; run(); });
    const dax = element("p", {}, button("Another dax", () => { draws += 1; run(); }), " A new word. Syntax receives random numbers for it; its meaning is that of jump, so JUMP is correct.");
    const examples = EXAMPLES.map((text) => button(text, () => { command.value = text; run(); }));
    box.append(element("div", { class: "live-controls", role: "group", "aria-label": "Network" }, choices), form(run, "Ask", labelled("Command", command)),
      element("p", { class: "live-examples" }, "Try: ", examples), both, element("div", { class: "live-controls" }, mend), dax, shown);
    run();
  }

  figure("scan_attention", start, ["scan"]);
})();
