/* What the figures of Syntactic Attention share: a question, its answer in words, and the map of attention. */
(function () {
  "use strict";
  const { element, status, scroller } = Live;
  const { argmax } = Arithmetic;
  const START = "<SOS>", END = "<EOS>", DAX = "dax";
  const wordsOf = (text) => text.trim().toLowerCase().split(/\s+/).filter(Boolean);

  /** What a network does when syntax and semantics receive these commands; {error} for what is no command. Only the last of
      the `words` may be unknown to the network: *dax*. */
  function ask(net, { words, actions }, syntax, semantics = syntax) {
    const streams = { syntax: wordsOf(syntax), semantics: wordsOf(semantics) }, known = words.filter((word) => !word.startsWith("<"));
    const strange = [...streams.syntax, ...streams.semantics].find((word) => !known.includes(word));
    if (strange) return { error: `“${strange}” is not a word of SCAN. Its words: ${known.sort().join(", ")}.` };
    const derived = Scan.derive(streams.syntax.map((word) => (word === DAX ? "jump" : word)));
    if (!derived) return { error: `“${syntax.trim()}” is not a command of SCAN. Try one of the examples.` };
    if (streams.semantics.length !== streams.syntax.length) return { error: `Both need the same number of words: syntax has ${streams.syntax.length}, semantics ${streams.semantics.length}.` };
    const number = (list) => [START, ...list, END].map((word) => words.indexOf(word));
    const attention = Scan.steer(net, number(streams.syntax), derived.length + 1), logits = Scan.say(net, attention, number(streams.semantics));
    // Where the streams differ, correct is the meaning of the word that semantics receives at the place that syntax asks for.
    const meaning = (at) => ({ turn: "", [DAX]: "JUMP" })[streams.semantics[at]] ?? streams.semantics[at].toUpperCase();
    const right = [...derived.map(({ at }) => meaning(at)), END], own = [...derived.map(({ at }) => at + 1), streams.syntax.length + 1];
    const said = logits.map((each) => actions[argmax(each)]), mute = derived.map(({ at }) => streams.semantics[at]).find((word, i) => !actions.includes(right[i]));
    const either = actions[argmax(Scan.say(net, [[1]], [words.indexOf(START)])[0])] === END; // the start means the end as well
    return { streams, attention, logits, said, right: right.map((action, i) => (actions.includes(action) ? action : said[i])), own, mute, either };
  }

  /** One sentence: correct, or the first step that is wrong and what the network attends to in it. */
  function verdict({ said, right, own, attention, streams, mute }) {
    if (mute) return `“${mute}” has no action of its own, so no answer is correct. Output: ${said.slice(0, -1).join(" ")}.`;
    const wrong = said.findIndex((action, i) => action !== right[i]);
    if (wrong < 0) return `The network is correct: ${said.slice(0, -1).join(" ")}.`;
    const words = [START, ...streams.semantics, END], at = argmax(attention[wrong]);
    const where = at === own[wrong] ? `It attends to the word that it should, “${words[at]}”.` : `It attends to “${words[at]}” instead of “${words[own[wrong]]}”.`;
    return `Wrong at step ${wrong + 1}: it outputs ${said[wrong]} instead of ${right[wrong]}. ${where}`;
  }

  /** The map of attention: time goes to the right, outputs on top, a row for each word; `both` names the words of both streams. */
  function map({ streams, attention, said, right, own, either }, both) {
    const ring = (i, j) => own[i] === j || (either && i === own.length - 1 && j === 0);
    const head = (name, row, wrong) => element("tr", {}, element("th", { scope: "row", colspan: both ? 2 : 1 }, name),
      row.map((action, i) => element("th", { scope: "col", class: wrong && said[i] !== right[i] ? "live-wrong" : null }, element("span", {}, action))));
    const [syntax, semantics] = [streams.syntax, streams.semantics].map((words) => [START, ...words, END]);
    const lines = syntax.map((word, j) => element("tr", {}, element("th", { scope: "row", class: both ? "live-structure" : null }, word),
      both ? element("th", { scope: "row", class: "live-content" }, semantics[j]) : null,
      attention.map((alpha, i) => element("td", { class: ring(i, j) ? "live-ring" : null, style: `--shade: ${Math.round(100 * alpha[j])}%` },
        element("span", { class: "visually-hidden" }, `${Math.round(100 * alpha[j])} %`)))));
    const names = both ? element("tr", {}, [["live-structure", "syntax"], ["live-content", "semantics"]].map(([kind, name]) => element("th", { scope: "col", class: kind }, name))) : null;
    const wrong = said.some((action, i) => action !== right[i]);
    return element("table", { class: "live-map" }, element("thead", {}, wrong ? head("correct", right) : null, head("output", said, true), names), element("tbody", {}, lines));
  }

  /** Where maps are shown: {box, show(result, both)}. Wide ones scroll, and say so. */
  function stage() {
    const told = status(), about = element("p", { class: "live-note" }, "Attention, time to the right, for as many steps as the correct answer has. Outlined: where most attention should be.");
    const place = scroller("Attention: one column for each step, one row for each word"), hint = element("p", { class: "live-note" }, "The map goes on to the right: scroll it.");
    function show(result, both) {
      told.textContent = result.error ?? verdict(result);
      place.replaceChildren(...(result.error ? [] : [map(result, both)]));
      about.hidden = Boolean(result.error);
      hint.hidden = place.scrollWidth <= place.clientWidth;
    }
    return { box: element("div", {}, told, place, hint, about), show };
  }

  Object.assign(Scan, { ask, stage });
})();
