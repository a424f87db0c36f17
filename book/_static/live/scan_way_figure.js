/* The vector of *jump* on its way to that of *look*, and what the network then outputs: <div data-live="scan_way">. */
(function () {
  "use strict";
  const { element, labelled, slider, status, network, figure } = Live;
  const COMMANDS = ["jump", "jump left", "jump twice", "jump left thrice", "walk after jump twice", "jump around right"];
  const LEFT = "text-align: left";
  const MOST = 50; // actions; the longest right answer has 48

  function start(box, parcel) {
    const { words, actions } = parcel.facts, net = network(parcel, "gru_attention"), end = actions.indexOf("<EOS>");
    const told = status(), body = element("tbody"), own = element("input", { type: "text", size: 26, value: "jump opposite left twice", autocomplete: "off", spellcheck: "false", autocapitalize: "none" });
    const complaint = element("p", { role: "alert", hidden: true });
    let share = 0;

    /** What it outputs for a command, and whether that is "correct", "like look" (right but for LOOK in place of JUMP) or "wrong". */
    function ask(command) {
      const output = Scan.decode(net, Scan.vectors(net, words, command, share), end, MOST).actions.map((i) => actions[i]);
      const right = [...Scan.derive(command).map(({ action }) => action), "<EOS>"], verb = (list) => list.join(" ").replaceAll("LOOK", "JUMP");
      const kind = output.join(" ") === right.join(" ") ? "correct" : verb(output) === verb(right) ? "like look" : "wrong";
      return { output: output.filter((action) => action !== "<EOS>"), kind };
    }

    function row(command) {
      const { output, kind } = ask(command);
      const said = output.map((action, i) => element(action === "JUMP" ? "strong" : "span", {}, (i ? " " : "") + action));
      body.append(element("tr", {}, element("th", { scope: "row", style: LEFT }, command.join(" ")), element("td", { style: LEFT }, said.length ? said : "(nothing)"), element("td", { style: LEFT }, kind)));
      return kind;
    }

    function run() {
      body.replaceChildren();
      const kinds = COMMANDS.map((text) => row(text.split(" "))), count = (kind) => kinds.filter((each) => each === kind).length;
      const command = own.value.trim().toLowerCase().split(/\s+/), known = command.every((word) => words.includes(word)) && Scan.derive(command);
      complaint.hidden = Boolean(known);
      complaint.textContent = known ? "" : `“${own.value.trim()}” is not a command of SCAN.`;
      if (known) row(command);
      told.textContent = `At ${Math.round(100 * share)} % of the way, of these six: ${count("correct")} correct, ${count("like look")} like look, ${count("wrong")} wrong.`;
    }

    const way = slider("From jump to look", { min: 0, max: 100, value: 0, shown: (value) => `${value} %` }, (value) => { share = value / 100; run(); });
    const form = element("form", { class: "live-controls", style: "margin-top: 0.6rem", onsubmit: (event) => { event.preventDefault(); run(); } },
      labelled("Your command", own), element("button", { type: "submit" }, "Ask"));
    const head = element("thead", {}, element("tr", {}, ["command", "its output", ""].map((name) => element(name ? "th" : "td", name ? { scope: "col", style: LEFT } : {}, name))));
    box.append(element("div", { class: "live-controls" }, way), told, element("table", { class: "live-way" }, head, body), form, complaint,
      element("p", { class: "live-note" }, "“Like look”: right, but for LOOK in place of JUMP."));
    run();
  }

  figure("scan_way", start, "scan_way");
})();
