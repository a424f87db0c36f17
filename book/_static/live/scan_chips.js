/* Actions as colored squares, with the colors and signs of the printed figures (mini_lib/reproduction/scan/figures/squares.py). */
(function () {
  "use strict";
  const { element } = Live;
  const LOOKS = { WALK: ["#788C33", "W"], LOOK: ["#CC66A6", "L"], RUN: ["#B37D0D", "R"], JUMP: ["#E65F61", "J"], LEFT: ["#808080", "↰"], RIGHT: ["#947D6B", "↱"], DAX: ["#A870D1", "D"] };

  /** A row of actions, which a screen reader reads as their names. */
  const chips = (actions) => element("span", { class: "live-acts", role: "img", "aria-label": actions.join(" ") || "nothing" },
    actions.map((action) => element("span", { class: "live-act", "aria-hidden": "true", style: `--act: ${LOOKS[action][0]}` }, LOOKS[action][1])));

  /** The words of a command; those with an action of their own in its color. */
  const colored = (words) => words.map((word) => element("span", LOOKS[word.toUpperCase()] ? { class: "live-act", style: `--act: ${LOOKS[word.toUpperCase()][0]}` } : {}, word));

  Object.assign(Scan, { chips, colored });
})();
