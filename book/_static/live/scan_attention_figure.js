/* Three networks and a command, in which *dax* may stand: <div data-live="scan_attention">. */
(function () {
  "use strict";
  const { element, labelled, button, network, figure } = Live;
  const EXAMPLES = ["jump", "jump opposite left", "walk after jump twice", "dax around left"];

  function start(box, parcel) {
    const { networks, ...facts } = parcel.facts, { box: shown, show } = Scan.stage(false), command = Scan.field("jump around left");
    const known = { ...facts, words: [...facts.words, "dax"] };
    let chosen = 0, draws = 1;

    function run() {
      const net = Scan.withDax(network(parcel, networks[chosen]), facts.words, Arithmetic.uniform(draws));
      choices.forEach((each, i) => each.setAttribute("aria-pressed", String(i === chosen)));
      dax.hidden = !/\bdax\b/i.test(command.value);
      show(Scan.ask(net, known, command.value));
    }

    const choices = networks.map((_, i) => button(`network ${i + 1}`, () => { chosen = i; run(); }));
    const dax = element("p", {}, button("Another dax", () => { draws += 1; run(); }), " A new word. Syntax receives random numbers for it; its meaning is that of jump.");
    const form = element("form", { class: "live-controls", onsubmit: (event) => { event.preventDefault(); run(); } },
      labelled("Command", command), element("button", { type: "submit" }, "Ask"));
    const examples = EXAMPLES.map((text) => button(text, () => { command.value = text; run(); }));
    box.append(element("div", { class: "live-controls", role: "group", "aria-label": "Network" }, choices), form,
      element("p", { class: "live-examples" }, "Try: ", examples), dax, shown);
    run();
  }

  figure("scan_attention", start, "scan");
})();
