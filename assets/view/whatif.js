/* What if: the section below the ranking with every tau and alpha at once. It computes only while it is in sight.
 *
 * whatif({turn, choose}) -> {element, update(frame, chosen, held), rest(), figures(), destroy()}.
 */
(function (ns) {
  "use strict";
  const { h, setText, toggle } = ns.dom;

  /** So much of the section must be in sight before it computes anything. */
  const IN_SIGHT = 80;
  /** Beyond this many candidates lines that alpha moves are redrawn at rest only. */
  const LIVE = 40;
  const STACKED = 1100;
  const GAP = 32;

  ns.whatif = function whatif(hooks) {
    const steps = ns.steps(hooks);
    const map = ns.map(hooks);
    const flips = ns.flips(hooks);
    const problem = h("p.cv-wi-problem");
    const charts = h("div.cv-wi-charts", null, steps.element, map.element);
    const body = h("div.cv-wi-body.cv-wi-waiting", null, charts, flips.element);
    const element = h(
      "section.cv-whatif", { "aria-label": "What if" },
      h("div.cv-wi-head", null,
        h("h3.cv-wi-heading", null, "What if: every tau and alpha at once"),
        h("p.cv-wi-lead", null, "After the search everything is arithmetic on a few numbers, so no setting has to be tried out: these are all of them, exactly.")),
      problem, body,
    );

    let now = null;
    let visible = false;
    let inputs = {};
    let states = null;
    let path = null;
    let plane = null;
    let flipped = null;

    const sight = new IntersectionObserver(([entry]) => {
      visible = entry.isIntersecting;
      if (visible) {
        draw(false);
        rest();
      }
    }, { rootMargin: `0px 0px -${IN_SIGHT}px 0px` });
    sight.observe(element);
    const size = new ResizeObserver(() => {
      const width = element.clientWidth;
      if (!width) return;
      const stacked = width < STACKED;
      toggle(element, "cv-wi-stacked", stacked);
      const each = stacked ? width : Math.floor((width - GAP) / 2);
      steps.resize(each);
      map.resize(each);
    });
    size.observe(element);

    function update(frame, chosen, held) {
      now = { frame, chosen };
      if (visible) draw(held);
    }

    /** Recompute what depends on what has changed, and nothing else. */
    function draw(held) {
      if (!now || now.chosen < 0) return;
      const { frame, chosen } = now;
      const { trace, table, state } = frame;
      if (inputs.trace !== trace || inputs.mode !== state.mode || inputs.emptyB !== state.emptyB) {
        if (inputs.trace !== trace) {
          const start = ns.model.spanStart(trace, ns.model.cosinesOf(trace).cosines);
          steps.load(trace, start);
          map.load(start);
        }
        inputs = { trace, mode: state.mode, emptyB: state.emptyB };
        states = possible(table, state);
      }
      if (!states) return;
      const { method } = state;
      const alpha = method === "hybrid" ? state.alpha : 0;
      const pathOld = inputs.method !== method || inputs.alpha !== alpha;
      const wait = pathOld && held && states.n > LIVE && inputs.method === method;
      steps.stale(wait);
      if (pathOld && !wait) {
        path = ns.path.path(states, { method, alpha });
        steps.draw(path);
        inputs.alpha = alpha;
      }
      if (inputs.chosen !== chosen || inputs.method !== method) {
        plane = ns.path.plane(states, chosen, method);
        map.draw(plane, ns.model.titleOf(trace.candidates[chosen]));
        inputs.chosen = chosen;
      }
      inputs.method = method;
      toggle(body, "cv-wi-waiting", false);
      steps.choose(chosen);
      steps.move(state);
      map.move(state);
      toggle(flips.element, "cv-stale", flipped !== frame);
    }

    function possible(table, state) {
      try {
        setText(problem, "");
        toggle(body, "cv-hidden", false);
        return ns.path.states(table, state);
      } catch (error) {
        setText(problem, `This cannot be worked out: ${error.message}.`);
        toggle(body, "cv-hidden", true);
        return null;
      }
    }

    /** Nothing has changed for a while: catch up with what is too slow, or too restless, for a drag. */
    function rest() {
      if (!visible || !now || now.chosen < 0 || flipped === now.frame) return;
      draw(false);
      if (!states) return;
      flipped = now.frame;
      flips.draw(now.frame, now.chosen, path, plane);
      toggle(flips.element, "cv-stale", false);
    }

    /** The two drawings, up to date even when they are out of sight, for exports. */
    function figures() {
      draw(false);
      return { path: steps.svg, map: map.svg };
    }

    function destroy() {
      sight.disconnect();
      size.disconnect();
    }

    return { element, update, rest, figures, destroy };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
