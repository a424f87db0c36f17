/* What every live figure needs from its page: its parcel of weights, and parts to build it from. */
(function () {
  "use strict";

  const here = document.currentScript.src, waiting = {}, loaded = {};

  /** Called by `parcel-NAME.js`: tensors as base64 of a safetensors file, and facts. */
  function deliver(name, { tensors, facts }) {
    waiting[name]({ tensors: tensors ? Arithmetic.unpack(tensors) : {}, facts });
  }

  /** The parcel of that name: {tensors, facts}. It comes as a script, since a page from the disk may fetch nothing. */
  function load(name) {
    loaded[name] ??= new Promise((resolve, reject) => {
      waiting[name] = resolve;
      const script = document.createElement("script");
      script.src = new URL(`parcel-${name}.js`, here).href;
      script.onerror = () => {
        delete loaded[name];
        reject(new Error(`no file ${script.src}`));
      };
      document.head.append(script);
    });
    return loaded[name];
  }

  /** The tensors of one network of a parcel, by their own names: those called NAME/... */
  function network({ tensors }, name) {
    const own = Object.entries(tensors).filter(([key]) => key.startsWith(name + "/"));
    return Object.fromEntries(own.map(([key, tensor]) => [key.slice(name.length + 1), tensor]));
  }

  const SVG = "http://www.w3.org/2000/svg";
  const DRAWN = new Set(["svg", "g", "rect", "circle", "line", "path", "text", "polyline", "polygon", "title", "image"]);

  /** An element of HTML or SVG: attributes, listeners (`onclick: f`), children (elements or text). */
  function element(name, attributes = {}, ...children) {
    const made = DRAWN.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value === true) made.setAttribute(key, "");
      else if (value !== false && value != null) made.setAttribute(key, value);
    }
    made.append(...children.flat().filter((child) => child != null));
    return made;
  }

  let count = 0;

  /** A labelled control: `made` gets an id, and comes after its label. */
  function labelled(text, made) {
    made.id ||= `live-control-${++count}`;
    return element("span", { class: "live-control" }, element("label", { for: made.id }, text), made);
  }

  /** A labelled list to choose from. `choices` are [value, text]; `change` receives the value. */
  function choice(text, choices, value, change) {
    const list = element("select", { onchange: () => change(list.value) });
    list.append(...choices.map(([v, t]) => element("option", { value: v, selected: String(v) === String(value) }, t)));
    return labelled(text, list);
  }

  /** A labelled slider that shows its value: `shown` turns the number into the text next to it. */
  function slider(text, { min, max, step = 1, value, shown = String }, change) {
    const input = element("input", { type: "range", min, max, step, value });
    const output = element("output", {}, shown(value));
    const show = () => {
      output.textContent = shown(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => { show(); change(Number(input.value)); });
    show();
    const all = labelled(text, input);
    all.append(output);
    return all;
  }

  /** Set a labelled control, as if the reader had. */
  function set(control, value) {
    const input = control.querySelector("input, select");
    input.value = value;
    input.dispatchEvent(new Event(input.tagName === "SELECT" ? "change" : "input"));
  }

  /** A box to tick; `change` receives whether it is. */
  function tick(text, change, checked = false) {
    const box = element("input", { type: "checkbox", checked, onchange: () => change(box.checked) });
    return element("label", { class: "live-tick" }, box, text);
  }

  /** A box for words, which no browser corrects. */
  const field = (value, size, more = {}) =>
    element("input", { type: "text", size, value, autocomplete: "off", spellcheck: "false", autocapitalize: "none", ...more });

  /** Labelled fields, and a button or Enter to take what they hold. */
  const form = (take, word, ...fields) =>
    element("form", { class: "live-controls", onsubmit: (event) => { event.preventDefault(); take(); } }, fields, element("button", { type: "submit" }, word));

  const button = (text, press, attributes = {}, ...more) =>
    element("button", { type: "button", onclick: press, ...attributes }, text, ...more);

  /** A paragraph that a screen reader reads out when it changes. */
  const status = () => element("p", { role: "status", class: "live-status" });

  /** A box that scrolls sideways where the page is narrow. */
  const scroller = (label, ...children) =>
    element("div", { class: "live-scroll", role: "region", tabindex: "0", "aria-label": label }, ...children);

  /** Arrow keys move the focus among buttons in rows of `columns`; the Tab key meets one of them. */
  function roving(buttons, columns = 1) {
    const rest = (at) => buttons.forEach((each, i) => { each.tabIndex = i === at ? 0 : -1; });
    buttons.forEach((each, i) => {
      each.addEventListener("focus", () => rest(i));
      each.addEventListener("keydown", (event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
        if (!step) return;
        event.preventDefault();
        buttons[i + step]?.focus();
      });
    });
    rest(0);
    return buttons;
  }

  /** Let a pointer drag a mark. `take(event)`, where it goes down, returns what each of its moves does, or nothing;
      `drop(event)` follows: pointerup, or pointercancel. */
  function draggable(mark, take, drop = () => {}) {
    mark.addEventListener("pointerdown", (event) => {
      const move = event.button ? null : take(event);
      if (!move) return;
      const over = new AbortController(), { signal } = over;
      mark.setPointerCapture(event.pointerId);
      mark.addEventListener("pointermove", move, { signal });
      for (const end of ["pointerup", "pointercancel"]) mark.addEventListener(end, (last) => { over.abort(); drop(last); }, { signal });
    });
  }

  /** Where a pointer is in a drawing, in the units of its viewBox, which begins at 0. */
  function under(svg, { clientX, clientY }) {
    const { left, top, width, height } = svg.getBoundingClientRect(), whole = svg.viewBox.baseVal;
    return [((clientX - left) / width) * whole.width, ((clientY - top) / height) * whole.height];
  }

  /** Two decimals, with a sign as in print. */
  const decimals = (v) => v.toFixed(2).replace(/^-(0\.00)$/, "$1").replace("-", "−");

  /** A square picture of values from 0 to 1: ink on the page, or light of three colors. Without a label it says nothing. */
  function picture(label, values, channels = 1) {
    const count = values.length / channels, side = Math.sqrt(count), kind = channels === 1 ? "live-picture" : "live-picture live-light";
    const spoken = label ? { role: "img", "aria-label": label } : { "aria-hidden": "true" };
    const canvas = element("canvas", { class: kind, width: side, height: side, ...spoken });
    const drawing = canvas.getContext("2d"), pixels = drawing.createImageData(side, side);
    for (let i = 0; i < count; i++) {
      if (channels === 1) pixels.data[4 * i + 3] = 255 * values[i];
      else for (let c = 0; c < 4; c++) pixels.data[4 * i + c] = c < 3 ? 255 * values[c * count + i] : 255;
    }
    drawing.putImageData(pixels, 0, 0);
    return canvas;
  }

  /** Pictures above the words that say what they are. */
  const shownAs = (words, ...pictures) => element("div", { class: "live-shown" }, pictures, element("span", {}, words));

  /** Start a figure in every `<div data-live="NAME">`: `start(box, ...parcels)` fills the box, and may return a promise. */
  function figure(name, start, parcels = [name]) {
    for (const box of document.querySelectorAll(`[data-live="${name}"]`)) {
      box.setAttribute("aria-busy", "true");
      Promise.all(parcels.map(load)).then(async (all) => {
        box.replaceChildren();
        await start(box, ...all);
        box.dataset.ready = "true";
      }).catch((error) => {
        box.replaceChildren(element("p", { role: "alert" }, `This figure could not be started: ${error.message}`));
        throw error;
      }).finally(() => box.removeAttribute("aria-busy"));
    }
  }

  window.Live = {
    deliver, load, element, labelled, choice, slider, tick, field, form, set, button, status, scroller, roving, draggable, under, decimals,
    picture, shownAs, network, figure,
  };
})();
