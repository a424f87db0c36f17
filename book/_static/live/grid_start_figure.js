/* How a network compares nine objects before it has learned anything: <div data-live="grid_start">. */
(function () {
  "use strict";
  const { element, slider, button, choice, status, scroller, picture, figure } = Live;
  const { affine, dot, softmax, rows } = Arithmetic;
  const RELATIONS = [["fixed", "as they are"], ["tied", "through one map"], ["learned", "through two maps"]];

  /** A map on its way from random numbers (0) to the identity (1). */
  const towards = ({ shape: [n], data }, share) => data.map((v, i) => (1 - share) * v + (i % (n + 1) ? 0 : share));

  /** R of CoRelNet: how much each object attends to itself and to each before it. */
  function relate(z, relation, { query, key }, share) {
    const maps = { fixed: [], tied: [query, query], learned: [query, key] }[relation].map((map) => towards(map, share));
    const [q, k] = [0, 1].map((side) => (maps.length ? z.map((x) => affine(maps[side], null, x)) : z));
    return q.map((x, i) => softmax(Float32Array.from(k.slice(0, i + 1), (y) => dot(x, y))));
  }

  function start(box, { tensors, facts: { objects } }) {
    const images = rows({ shape: [tensors.images.data.length / tensors.images.shape[0]], data: tensors.images.data }).map((v) => v.map((p) => 1 - p / 255));
    const places = objects[0].length, z = rows(tensors.z), names = "ABCDE";
    const now = { problem: 0, relation: "learned", share: 0 }, told = status(), board = element("tbody"), head = element("tr");
    const table = element("table", { class: "live-map" }, element("thead", {}, head), board);

    function draw() {
      way.style.visibility = now.relation === "fixed" ? "hidden" : "visible";
      const ids = objects[now.problem], R = relate(z.slice(places * now.problem, places * (now.problem + 1)), now.relation, tensors, now.share);
      const shown = (id) => picture(`object ${names[id]}`, images[id]);
      head.replaceChildren(element("td"), ...ids.map((id) => element("th", { scope: "col" }, shown(id))));
      board.replaceChildren(...ids.map((id, i) => element("tr", {}, element("th", { scope: "row" }, shown(id)), ids.map((other, j) => (j > i ? element("td", { class: "live-later" })
        : element("td", { class: other === id ? "live-ring" : null, style: `--shade: ${Math.round(100 * R[i][j])}%`, title: R[i][j].toFixed(4) }))))));
      const equal = R.slice(1).reduce((sum, row, i) => sum + row.reduce((part, v, j) => part + (ids[j] === ids[i + 1] ? v : 0), 0), 0) / (places - 1);
      told.textContent = `${Math.round(100 * equal)} % of the attention goes to equal objects (framed), not counting the first row, which has only itself.`;
    }

    const way = slider("Start", { min: 0, max: 1, step: 0.05, value: 0, shown: (v) => (v ? (v < 1 ? `${Math.round(100 * v)} % of the way to the identity` : "the identity") : "random numbers") }, (v) => { now.share = v; draw(); });
    const list = choice("Objects are compared", RELATIONS, now.relation, (v) => {
      now.relation = v;
      draw();
    });
    const other = button("Other objects", () => { now.problem = (now.problem + 1) % objects.length; draw(); });
    box.append(element("div", { class: "live-controls" }, list, other), element("div", { class: "live-controls" }, way), told, scroller("how much each object attends to those before it", table));
    draw();
  }

  window.Relation = { relate };
  figure("grid_start", start);
})();
