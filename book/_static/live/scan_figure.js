/* Type a command and see where Syntactic Attention looks and what it says: <div data-live="scan">. */
(function () {
  "use strict";
  const { element, labelled, choice, button, status, scroller, network, figure } = Live;
  const { argmax, softmax } = Arithmetic;
  const START = "<SOS>", END = "<EOS>";
  const EXAMPLES = ["jump twice", "jump around left", "walk after jump twice", "look left and jump opposite right", "run thrice"];

  const wordsOf = (text) => text.trim().toLowerCase().split(/\s+/).filter(Boolean);

  /** What a network does when syntax and semantics hear these commands; {error} for what is no command. */
  function ask(net, { words: known, actions }, syntax, semantics = syntax) {
    const streams = { syntax: wordsOf(syntax), semantics: wordsOf(semantics) };
    for (const [stream, words] of Object.entries(streams)) {
      const strange = words.find((word) => !known.includes(word) || word.startsWith("<"));
      if (strange) return { error: `${stream} hears “${strange}”, which is no word of SCAN. Its words: ${known.filter((word) => !word.startsWith("<")).sort().join(", ")}.` };
    }
    const derived = Scan.derive(streams.syntax);
    if (!derived) return { error: `“${syntax.trim()}” is no command of SCAN. Try one of the examples.` };
    if (streams.semantics.length !== streams.syntax.length) return { error: `Both streams need as many words: syntax hears ${streams.syntax.length}, semantics ${streams.semantics.length}.` };
    const number = (words) => [START, ...words, END].map((word) => known.indexOf(word));
    const attention = Scan.steer(net, number(streams.syntax), derived.length + 1);
    const logits = Scan.say(net, attention, number(streams.semantics));
    // Where the streams differ, right is the meaning of the word that semantics hears at the place that syntax asks for.
    const meaning = (at) => ({ turn: "" })[streams.semantics[at]] ?? streams.semantics[at].toUpperCase();
    const right = [...derived.map(({ at }) => meaning(at)), END];
    const own = [...derived.map(({ at }) => at + 1), streams.syntax.length + 1];
    const chances = logits.map((each) => softmax(each)), said = chances.map((each) => actions[argmax(each)]);
    return { streams, attention, logits, chances, said, right, own };
  }

  /** One sentence: right, or the first step that is wrong and where the network looked in it. */
  function verdict({ said, right, own, attention, streams }) {
    const wrong = said.findIndex((action, i) => action !== right[i]);
    if (wrong < 0) return `Right: ${said.slice(0, -1).join(" ")}.`;
    const heard = [START, ...streams.semantics, END], looked = argmax(attention[wrong]);
    const where = looked === own[wrong] ? `It looks at the right word, “${heard[looked]}”, and says the wrong thing.` : `It looks astray: at “${heard[looked]}”, not at “${heard[own[wrong]]}”.`;
    return `Wrong at step ${wrong + 1}: it says ${said[wrong]}, and ${right[wrong]} is right. ${where}`;
  }

  function start(box, parcel) {
    const { facts } = parcel, shown = { step: 0, network: facts.networks[0].name };
    const syntax = element("input", { type: "text", size: 34, value: "jump around left and walk twice", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
    const semantics = element("input", { type: "text", size: 34, value: "", placeholder: "the same", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
    const answer = status(), map = scroller("Attention: one row a step, one column a word"), bars = element("div", { class: "live-side" });
    const about = element("p", { class: "live-note" });
    let result;

    function run() {
      result = ask(network(parcel, shown.network), facts, syntax.value, semantics.value.trim() || syntax.value);
      about.textContent = facts.networks.find(({ name }) => name === shown.network).about;
      answer.textContent = result.error ?? verdict(result);
      shown.step = result.error ? 0 : Math.max(0, result.said.findIndex((action, i) => action !== result.right[i]));
      draw();
    }

    function draw() {
      map.replaceChildren(...(result.error ? [] : [table(result, facts, shown.step, (step) => { shown.step = step; draw(); map.querySelectorAll("button")[step].focus(); })]));
      bars.replaceChildren(...(result.error ? [] : [chances(result, facts, shown.step)]));
    }

    const form = element("form", { class: "live-controls", onsubmit: (event) => { event.preventDefault(); run(); } },
      labelled("Syntax hears", syntax), labelled("Semantics hears", semantics),
      choice("Network", facts.networks.map(({ name, title }) => [name, title]), shown.network, (name) => { shown.network = name; run(); }),
      element("button", { type: "submit" }, "Ask"));
    const examples = element("p", { class: "live-examples" }, "Try: ", EXAMPLES.map((text) => button(text, () => { syntax.value = text; semantics.value = ""; run(); })),
      button("syntax: jump twice, semantics: walk twice", () => { syntax.value = "jump twice"; semantics.value = "walk twice"; run(); }));
    box.append(form, examples, about, answer, element("div", { class: "live-columns" }, map, bars), scale());
    run();
  }

  /** The map: a row a step, a column a word; a ring where the grammar looks. */
  function table({ streams, attention, said, right, own }, _, current, choose) {
    const both = streams.syntax.join() !== streams.semantics.join();
    const heard = [START, ...streams.syntax, END].map((word, j) => {
      const other = [START, ...streams.semantics, END][j];
      return element("th", { scope: "col" }, both && other !== word ? [word, element("br"), `(${other})`] : word);
    });
    const lines = attention.map((alpha, i) => {
      const wrong = said[i] !== right[i], text = `${i + 1} ${said[i]}${wrong ? ` ✗ ${right[i]}` : ""}`;
      const press = button(text, () => choose(i), { "aria-pressed": String(i === current), "aria-label": `step ${i + 1} says ${said[i]}${wrong ? `, right is ${right[i]}` : ""}` });
      const cells = Array.from(alpha, (a, j) => {
        const percent = Math.round(100 * a), dark = a > 0.55;
        return element("td", { class: `${j === own[i] ? "live-ring" : ""}${dark ? " live-dark" : ""}`, style: `--shade: ${Math.round(100 * a)}%` }, percent ? String(percent) : "");
      });
      return element("tr", {}, element("th", { scope: "row", class: wrong ? "live-wrong" : "" }, press), cells);
    });
    return element("table", { class: "live-map" }, element("caption", {}, "Attention in percent. A ring stands where the grammar looks."),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "step says"), heard)), element("tbody", {}, lines));
  }

  /** How probable each action is in one step. */
  function chances({ chances: all, said, right }, { actions }, step) {
    const most = actions.map((action, i) => [action, all[step][i]]).filter(([action]) => action !== START).sort((a, b) => b[1] - a[1]);
    const lines = most.map(([action, p]) => element("tr", {}, element("th", { scope: "row" }, action),
      element("td", {}, element("span", { class: "live-bar", style: `width: ${Math.round(100 * p)}%` })), element("td", {}, `${Math.round(100 * p)} %`)));
    return element("table", { class: "live-bars" }, element("caption", {}, `Step ${step + 1}: what it could say${said[step] === right[step] ? "" : `; right is ${right[step]}`}`), element("tbody", {}, lines));
  }

  const scale = () => element("p", { class: "live-scale" }, "attention 0 ", element("span", { class: "live-ramp" }), " 100 %");

  window.ScanFigure = { ask, network };
  figure("scan", start);
})();
