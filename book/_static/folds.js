/* Who follows a link to what is folded wants to see it. */
function unfoldTarget() {
  var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (var fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  target.scrollIntoView();
}

window.addEventListener("load", unfoldTarget);
window.addEventListener("hashchange", unfoldTarget);

/* On paper everything is open. */
function openAll() {
  document.querySelectorAll("details.reveal, details.claims").forEach(function (fold) { fold.open = true; });
}

window.addEventListener("beforeprint", openAll);
matchMedia("print").addEventListener("change", function (print) { if (print.matches) openAll(); });

/* Emphasized answers with dots between them, at the end of a guess, are buttons; each opens what happened. */
function offerAnswers() {
  document.querySelectorAll("details.reveal").forEach(function (reveal) {
    var question = reveal.previousElementSibling, group = document.createElement("span");
    if (!question) return;
    var dots = [...question.childNodes].filter(function (node) { return node.nodeType === Node.TEXT_NODE && node.textContent.trim() === "·"; });
    var answers = new Set(dots.flatMap(function (dot) { return [dot.previousSibling, dot.nextSibling]; }).filter(Boolean));
    var buttons = [...answers].map(function (answer) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "guess";
      button.append(...answer.childNodes);
      answer.remove();
      return button;
    });
    dots.forEach(function (dot) { dot.remove(); });
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Your guess, which opens what happened");
    group.append(...buttons);
    if (buttons.length) question.append(group);
    buttons.forEach(function (button) {
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", function () {
        buttons.forEach(function (each) { each.setAttribute("aria-pressed", String(each === button)); });
        reveal.open = true;
      });
    });
  });
}

document.addEventListener("DOMContentLoaded", offerAnswers);

/* MathJax lets the Tab key stop at every formula; only those that scroll need it. */
function passFormulas() {
  if (!window.MathJax || !MathJax.startup) return;
  Promise.all([MathJax.startup.promise, document.fonts.ready]).then(function () {
    document.querySelectorAll("mjx-container[tabindex]").forEach(function (formula) {
      formula.tabIndex = formula.scrollWidth > formula.clientWidth ? 0 : -1;
    });
  });
}

window.addEventListener("load", passFormulas);
window.addEventListener("resize", passFormulas);
document.addEventListener("toggle", passFormulas, true);
