/* A command, word by word, and the rules that turn it into actions: <div data-live="scan_commands">. */
(function () {
  "use strict";
  const { element, labelled, field: typed, button, status, figure } = Live;
  const GROUPS = [["walk", "look", "run", "jump", "dax", "turn"], ["left", "right"], ["opposite", "around"], ["twice", "thrice"], ["and", "after"]];
  const [VERBS, DIRECTIONS, MANNERS, TIMES, JOINTS] = GROUPS;
  const EXAMPLES = ["jump twice", "jump around left", "turn opposite right and look thrice", "dax left after walk twice"];

  /** The actions of a command as SCAN's rules give them, *dax* as they would be of any verb; null for what is no command. */
  function actionsOf(words) {
    const steps = Scan.derive(words.map((word) => (word === "dax" ? "jump" : word)));
    return steps && steps.map(({ at }) => words[at].toUpperCase());
  }

  /** The words that can come next; none if these words begin no command. */
  function next(words) {
    const joint = words.findIndex((word) => JOINTS.includes(word)), phrase = words.slice(joint + 1), last = phrase.at(-1);
    if ((joint >= 0 && !actionsOf(words.slice(0, joint))) || phrase.some((word) => JOINTS.includes(word))) return [];
    if (!phrase.length) return VERBS;
    if (MANNERS.includes(last)) return actionsOf([...phrase, "left"]) ? DIRECTIONS : [];
    if (phrase.length === 1 && last === "turn") return [...MANNERS, ...DIRECTIONS];
    if (!actionsOf(phrase)) return [];
    const more = TIMES.includes(last) ? [] : phrase.length === 1 ? [...MANNERS, ...DIRECTIONS, ...TIMES] : TIMES;
    return joint < 0 ? [...more, ...JOINTS] : more;
  }

  /** What each rule adds: [the part of the command so far, the rule in words]. */
  function steps(words) {
    const joint = words.findIndex((word) => JOINTS.includes(word));
    if (joint >= 0) {
      const rule = words[joint] === "and" ? "first phrase, then second" : "second phrase, then first";
      return [...steps(words.slice(0, joint)), ...steps(words.slice(joint + 1)), [words, `${words[joint]}: ${rule}`]];
    }
    const [verb] = words, side = words.find((word) => DIRECTIONS.includes(word)), times = words.find((word) => TIMES.includes(word));
    const [manner] = words.filter((word) => MANNERS.includes(word)), once = times ? words.slice(0, -1) : words, then = verb === "turn" ? "" : `, then ${verb}`;
    const made = verb === "turn" ? [] : [[[verb], verb === "dax" ? "a verb means its own action, whatever that is" : "a verb means its own action"]];
    if (side) made.push([once, { opposite: `opposite: turn ${side} twice${then}`, around: then ? `around: turn ${side}${then}, four times` : `around: turn ${side} four times` }[manner] ?? `turn ${side}${then}`]);
    if (times) made.push([words, `${times}: the same, ${times === "twice" ? "two" : "three"} times`]);
    return made;
  }

  /** Whether training of add jump held a command. */
  function held(words) {
    if (words.includes("dax")) return "Not in SCAN, which has no dax. But the rules say when to dax.";
    if (!words.includes("jump")) return "In training, like all commands without jump.";
    return words.length === 1 ? "In training. It is the only training command with jump." : "Held back for the test: in training, jump is always alone.";
  }

  function missing(words, text) {
    const strange = words.find((word) => !GROUPS.flat().includes(word)), more = next(words);
    if (strange) return `“${strange}” is not a word that we know here.`;
    if (!words.length) return "Press a verb, or turn.";
    return more.length ? `“${text}” is not a command yet. It can go on with ${more.join(", ").replace(/, (\w+)$/, " or $1")}.` : `“${text}” is not a command of SCAN.`;
  }

  function start(box) {
    const told = status(), list = element("ol", { class: "live-steps" });
    const field = typed("jump twice", 36, { oninput: run });
    const wordsOf = () => field.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const put = (words) => { field.value = words.join(" "); run(); };
    const keys = GROUPS.map((group) => group.map((word) => button(word, () => { if (next(wordsOf()).includes(word)) put([...wordsOf(), word]); })));

    function run() {
      const words = wordsOf(), known = actionsOf(words), more = next(words);
      for (const key of keys.flat()) key.setAttribute("aria-disabled", String(!more.includes(key.textContent)));
      told.textContent = known ? held(words) : missing(words, words.join(" "));
      list.replaceChildren(...(known ? steps(words) : []).map(([part, rule]) => element("li", {},
        element("span", { class: "live-words" }, Scan.colored(part)), ` ${rule}`, element("div", {}, Scan.chips(actionsOf(part))))));
    }

    const names = ["Verbs", "Directions", "Manners", "Times", "Joining words"];
    const board = element("div", { class: "live-board", role: "group", "aria-label": "Words that can come next" }, keys.map((group, i) => element("span", { role: "group", "aria-label": names[i] }, group)));
    box.append(element("div", { class: "live-controls" }, labelled("Command", field), button("Remove a word", () => put(wordsOf().slice(0, -1))), button("Clear", () => put([]))),
      board, element("p", { class: "live-examples" }, "Try: ", EXAMPLES.map((text) => button(text, () => put(text.split(" "))))), told, list,
      element("p", { class: "live-note" }, "A word with an action of its own has the color of this action. W: walk, L: look, R: run, J: jump, D: dax; arrows: turn."));
    run();
  }

  Object.assign(Scan, { commands: { actionsOf, next, steps, held } });
  figure("scan_commands", start, []);
})();
