/* One command for syntax, one for semantics: <div data-live="scan_streams">. */
(function () {
  "use strict";
  const { element, labelled, button, network, figure } = Live;
  const EXAMPLES = [["jump twice", "walk twice"], ["walk opposite left", "jump opposite right"], ["look and run", "run and look"], ["walk after look left twice", "run and jump right thrice"]];

  function start(box, parcel) {
    const { facts } = parcel, net = network(parcel, facts.networks[0]), { box: shown, show } = Scan.stage();
    const syntax = Scan.field(EXAMPLES[0][0]), semantics = Scan.field(EXAMPLES[0][1]);
    const run = () => show(Scan.ask(net, facts, syntax.value, semantics.value), true);
    const form = element("form", { class: "live-controls", onsubmit: (event) => { event.preventDefault(); run(); } },
      labelled("Syntax receives", syntax), labelled("Semantics receives", semantics), element("button", { type: "submit" }, "Ask"));
    const examples = EXAMPLES.map((pair) => button(pair.join(" / "), () => {
      [syntax.value, semantics.value] = pair;
      run();
    }));
    box.append(form, element("p", { class: "live-examples" }, "Try: ", examples), shown);
    run();
  }

  figure("scan_streams", start, "scan");
})();
