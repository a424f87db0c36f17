/* The vector of *jump* on its way to that of a verb, and what the network then outputs: <div data-live="scan_way">. */
(function () {
  "use strict";
  const { element, labelled, field, form, choice, slider, status, network, figure } = Live;
  const COMMANDS = ["jump", "jump left", "jump twice", "jump left thrice", "walk after jump twice", "jump around right"];
  const GOALS = [["look", "look"], ["walk look run", "the mean of walk, look and run"]];
  const LEFT = "text-align: left";
  const MOST = 50; // actions; the longest right answer has 48

  function start(box, parcel) {
    const { words, actions } = parcel.facts, net = network(parcel, "gru_attention"), end = actions.indexOf("<EOS>");
    const told = status(), body = element("tbody"), own = field("jump opposite left twice", 26);
    const complaint = element("p", { role: "alert", hidden: true });
    let share = 0, goals = ["look"];

    /** The right actions of a command, the network's, and whether these are "correct", "wrong verb" (right but for the actions of verbs) or "wrong". */
    function ask(command) {
      const output = Scan.decode(net, Scan.vectors(net, words, command, share, goals), end, MOST).actions.map((i) => actions[i]);
      const right = [...Scan.derive(command).map(({ action }) => action), "<EOS>"], verb = (list) => list.join(" ").replace(/WALK|LOOK|RUN|JUMP/g, "VERB");
      const kind = output.join(" ") === right.join(" ") ? "correct" : verb(output) === verb(right) ? "wrong verb" : "wrong";
      return { right, output, kind };
    }

    function row(command, style = null) {
      const { right, output, kind } = ask(command), shown = (list) => element("td", { style: LEFT }, Scan.chips(list.filter((action) => !action.startsWith("<"))));
      body.append(element("tr", { style }, element("th", { scope: "row", style: LEFT }, command.join(" ")), shown(right), shown(output), element("td", { style: LEFT }, kind)));
      return kind;
    }

    function run() {
      body.replaceChildren();
      const kinds = COMMANDS.map((text) => row(text.split(" "))), count = (kind) => kinds.filter((each) => each === kind).length;
      const command = own.value.trim().toLowerCase().split(/\s+/), known = command.every((word) => words.includes(word)) && Scan.derive(command);
      complaint.hidden = Boolean(known);
      complaint.textContent = known ? "" : `“${own.value.trim()}” is not a command of SCAN.`;
      if (known) row(command, "border-top: 2px solid currentColor");
      told.textContent = `At ${Math.round(100 * share)} % of the way, of the first six: ${count("correct")} correct, ${count("wrong verb")} with a wrong verb only, ${count("wrong")} wrong.`;
    }

    const way = slider("Move jump", { min: 0, max: 100, value: 0, shown: (value) => `${value} %` }, (value) => { share = value / 100; run(); });
    const goal = choice("of the way to", GOALS, "look", (value) => { goals = value.split(" "); run(); });
    const asking = form(run, "Ask", labelled("Your command", own));
    asking.style.marginTop = "0.6rem";
    const head = element("thead", {}, element("tr", {}, ["command", "correct", "its output", ""].map((name) => element(name ? "th" : "td", name ? { scope: "col", style: LEFT } : {}, name))));
    box.append(element("div", { class: "live-controls" }, way, goal), told, element("table", { class: "live-way" }, head, body), asking, complaint,
      element("p", { class: "live-note" }, "“Wrong verb”: right steps and order, but other verbs' actions in place of JUMP. Below the line: your command. W: walk, L: look, R: run, J: jump; arrows: turn."));
    run();
  }

  figure("scan_way", start, ["scan_way"]);
})();
