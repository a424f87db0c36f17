/* A tune, and the same tune a fifth higher, to hear: buttons under the drawing in <div data-live="functions_tune">. */
(function () {
  "use strict";
  const { element, button } = Live;
  const STEPS = [0, 2, 4, 0], FIFTH = 7, BASE = 261.63, BEAT = 0.5; // semitones; Hz of the lowest note; seconds a note
  const Sound = window.AudioContext || window.webkitAudioContext;

  function start(box) {
    const notes = [...box.querySelectorAll("path.tune-note")], says = element("p", { role: "status", class: "live-note" });
    const mark = element("circle", { class: "tune-mark", r: 6, visibility: "hidden" });
    box.querySelector("svg").append(mark);
    let sound, playing = [], frame;

    /** One note, `after` seconds from now: a triangle wave that fades. */
    function note(semitones, after) {
      const wave = sound.createOscillator(), loud = sound.createGain(), from = sound.currentTime + after;
      wave.type = "triangle";
      wave.frequency.value = BASE * 2 ** (semitones / 12);
      loud.gain.setValueAtTime(0, from);
      loud.gain.linearRampToValueAtTime(0.25, from + 0.02);
      loud.gain.exponentialRampToValueAtTime(0.001, from + BEAT);
      wave.connect(loud).connect(sound.destination);
      wave.start(from);
      wave.stop(from + BEAT);
      return wave;
    }

    /** Move the mark along the notes, in time with the tune that begins with this one. */
    function follow(first, begun) {
      const beats = Math.max(0, performance.now() - begun) / 1000 / BEAT, at = Math.floor(beats);
      if (at >= STEPS.length) return mark.setAttribute("visibility", "hidden");
      const line = notes[first + at], { x, y } = line.getPointAtLength((beats - at) * line.getTotalLength());
      mark.setAttribute("cx", x);
      mark.setAttribute("cy", y);
      mark.setAttribute("visibility", "visible");
      frame = requestAnimationFrame(() => follow(first, begun));
    }

    function play(higher) {
      if (!Sound) {
        says.textContent = "This browser cannot play sounds.";
        return;
      }
      sound ??= new Sound();
      sound.resume();
      playing.forEach((wave) => wave.stop());
      cancelAnimationFrame(frame);
      playing = STEPS.map((step, i) => note(step + (higher ? FIFTH : 0), 0.05 + i * BEAT));
      follow(higher ? STEPS.length : 0, performance.now() + 50);
    }

    box.append(element("div", { class: "live-controls" }, button("▶ The tune", () => play(false)), button("▶ A fifth higher", () => play(true))), says);
    box.dataset.ready = "true";
  }

  document.querySelectorAll('[data-live="functions_tune"]').forEach(start);
})();
