/* One command for syntax, one for semantics: <div data-live="scan_streams">. */
(function () {
  "use strict";
  const { element, labelled, field, form, button, network, figure } = Live;
  const EXAMPLES = [["jump twice", "walk twice"], ["walk opposite left", "jump opposite right"], ["look and run", "run and look"], ["look left twice and walk", "run right thrice after jump"]];

  function start(box, parcel) {
    const { facts } = parcel, net = network(parcel, facts.networks[0]), { box: shown, show } = Scan.stage();
    const [syntax, semantics] = EXAMPLES[0].map((text) => field(text, 30));
    const run = () => show(Scan.ask(net, facts, syntax.value, semantics.value), true);
    const examples = EXAMPLES.map((pair) => button(pair.join(" / "), () => {
      [syntax.value, semantics.value] = pair;
      run();
    }));
    box.append(form(run, "Ask", labelled("Syntax receives", syntax), labelled("Semantics receives", semantics)), element("p", { class: "live-examples" }, "Try: ", examples), shown);
    run();
  }

  figure("scan_streams", start, ["scan"]);
})();
