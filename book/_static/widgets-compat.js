/* Three repairs that let notebook widgets live on a static page. Loaded in the head, before the theme's scripts. */

/* The theme's icon script replaces <i> elements; the Play widget keeps a reference to its own. Nesting spares it. */
window.FontAwesomeConfig = { autoReplaceSvg: "nest" };

/* Widgets ask for version 2 of MathJax, the book loads version 3: translate the one call they make. */
window.addEventListener("load", function () {
  var mathjax = window.MathJax;
  if (!mathjax || !mathjax.startup || mathjax.Hub) return;
  mathjax.Hub = {
    Queue: function (command) {
      var element = command[2];
      element.classList.add("mathjax_process");
      mathjax.startup.promise.then(function () { return mathjax.typesetPromise([element]); });
    },
  };
});

/* Sliders and their buttons come without names for screen readers; a slider gets the text of its own label. */
function nameWidgets(root) {
  root.querySelectorAll('[role="slider"]:not([aria-label])').forEach(function (handle) {
    var box = handle.closest(".widget-slider, .jupyter-widgets");
    var label = box && box.querySelector(".widget-label");
    var text = label && label.textContent.trim();
    handle.setAttribute("aria-label", text || "step through the pictures");
  });
  root.querySelectorAll(".widget-play").forEach(function (player) {
    ["play or pause", "stop", "repeat"].forEach(function (name, place) {
      var button = player.querySelectorAll("button")[place];
      if (button && !button.hasAttribute("aria-label")) button.setAttribute("aria-label", name);
    });
  });
  root.querySelectorAll('.widget-label[title="null"]').forEach(function (label) { label.removeAttribute("title"); });
  /* A picture of a sequence: the label that stands above it, then what the sequence shows. */
  root.querySelectorAll("img.jupyter-widgets:not([alt])").forEach(function (picture) {
    var player = picture.closest(".cell_output");
    var label = picture.previousElementSibling;
    var caption = player && player.querySelector(".mini-figure-caption");
    var words = [label, caption].map(function (element) { return element ? element.textContent.trim() : ""; });
    if (words.join("")) picture.alt = words.filter(Boolean).join(": ");
  });
}

document.addEventListener("DOMContentLoaded", function () {
  nameWidgets(document);
  new MutationObserver(function () { nameWidgets(document); })
    .observe(document.body, { childList: true, subtree: true });
});
