/* What the charts over tau and alpha share: places on an axis, ticks, and numbers as people read them. */
(function (ns) {
  "use strict";

  const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5];
  /** Least distance of two ticks in px. */
  const APART = 40;

  /** A straight scale from [from, to] to pixels; `value` clamps to the domain. */
  function linear(from, to, left, right) {
    const span = to - from || 1;
    const at = (value) => left + ((Math.min(to, Math.max(from, value)) - from) / span) * (right - left);
    const value = (px) => from + ((Math.min(right, Math.max(left, px)) - left) / (right - left)) * span;
    return { at, value, from, to, left, right };
  }

  /** Round values between the ends of a scale, as many as there is room for. */
  function ticks({ from, to, left, right }) {
    const most = Math.max(2, (right - left) / APART);
    const step = STEPS.find((size) => (to - from) / size <= most) || 1;
    const values = [];
    for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9; n++) values.push(Number((n * step).toFixed(4)));
    return values;
  }

  /** A number with as few decimals (four at least, none needless) as tell it from another. */
  function told(value, from = NaN) {
    for (let digits = 4; digits < 17; digits++) {
      const text = String(Number(value.toFixed(digits)));
      if (value === from || Number(text) !== Number(from.toFixed(Math.min(digits, 16)))) return text;
    }
    return String(value);
  }

  /** Where a pointer is in an SVG whose unit is a pixel of its viewBox. */
  function place(svg, event) {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }

  /** Follow a pointer from its first press on an element until it is let go; `move(event, held)`. */
  function drag(element, move) {
    let held = false;
    element.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      held = true;
      element.setPointerCapture(event.pointerId);
      event.preventDefault();
      move(event, true);
    });
    element.addEventListener("pointermove", (event) => {
      if (held) move(event, true);
    });
    const end = (event) => {
      if (!held) return;
      held = false;
      move(event, false);
    };
    element.addEventListener("pointerup", end);
    element.addEventListener("pointercancel", end);
    return () => held;
  }

  ns.scale = { linear, ticks, told, place, drag };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
