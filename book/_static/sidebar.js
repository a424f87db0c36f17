/* The entry of the page that is open stands in view, also where the theme keeps the place of the page before. */
function showOwnEntry() {
  var sidebar = document.querySelector(".bd-sidebar-primary");
  var entry = sidebar && sidebar.querySelector("li.current.active");
  if (!entry) return;
  var frame = sidebar.getBoundingClientRect();
  var place = entry.getBoundingClientRect();
  if (place.top < frame.top || place.bottom > Math.min(frame.bottom, innerHeight)) {
    sidebar.scrollTop += place.top - frame.top - Math.min(frame.height, innerHeight) / 2;
  }
}

window.addEventListener("load", showOwnEntry);
