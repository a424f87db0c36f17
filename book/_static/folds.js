/* Who follows a link to a figure that a cell reveals on a click wants to see it. */
function unfoldTarget() {
  var target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  var cell = target && target.closest(".cell");
  if (!cell) return;
  cell.querySelectorAll("details.below-input").forEach(function (fold) { fold.open = true; });
  target.scrollIntoView();
}

window.addEventListener("load", unfoldTarget);
window.addEventListener("hashchange", unfoldTarget);
