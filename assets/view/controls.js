/* The control strip: threshold, hybrid weight, method, and the two rules.
 *
 * controls(change) -> {element, load(trace), choose(trace, index), update(state)}. `change(patch, dragging)` is called
 * with the part of the state a person turned.
 */
/* global CausalVizRerank */
(function (ns) {
  "use strict";
  const { h, s, setText, setStyle, setAttr, toggle, plain, percent } = ns.dom;

  const STEP = 0.001;
  const BINS = 90;
  const HEIGHT = 22;
  const GUARD_HINT = "Which score orders the right-hand column. Guarded: similarity, except that a document suspected of stuffing "
    + "stands no higher than its causal score puts it";

  const ORIGINS = {
    encoder: "default measured for this encoder",
    "knowledge base": "the default, as this knowledge base proposes",
  };
  const TOO_FEW = {
    encoder: "the encoder’s default is used: under 50 keywords here, too few to propose one",
    exact: "only the question’s own keywords are set aside: no default is known, and under 50 keywords are too few to propose one",
  };

  let mounted = 0;

  function select(name, label, hint, options, onChange) {
    const id = `cv-${name}-${mounted}`;
    const field = h(
      "select.cv-select", { id, title: hint },
      ...options.map(([value, text]) => h("option", { value }, text)),
    );
    field.addEventListener("change", () => onChange(field.value));
    return { field, element: h("div.cv-field", null, h("label.cv-label", { for: id }, label), field) };
  }

  /** Counts per bin as a filled outline; the root keeps single keywords visible beside a crowd. */
  function outline(cosines, start) {
    const bins = new Float64Array(BINS);
    for (const cosine of cosines) {
      const at = Math.floor(((cosine - start) / (1 - start)) * BINS);
      bins[Math.min(BINS - 1, Math.max(0, at))]++;
    }
    const most = Math.sqrt(Math.max(1, ...bins));
    let path = `M0 ${HEIGHT}`;
    bins.forEach((number, at) => {
      const y = (HEIGHT * (1 - Math.sqrt(number) / most)).toFixed(2);
      path += `V${y}H${at + 1}`;
    });
    return `${path}V${HEIGHT}Z`;
  }

  function density(className) {
    const path = s("path", null);
    const box = { viewBox: `0 0 ${BINS} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" };
    return { path, element: s(`svg.cv-density.${className}`, box, path) };
  }

  function thresholdControl(change) {
    const id = `cv-tau-${mounted}`;
    const slider = h("input.cv-range.cv-range-tau", { type: "range", id, step: STEP, max: 1 });
    const typed = h("input.cv-number", {
      type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", "aria-label": "Absorption threshold, typed",
      title: "Any cosine between -1 and 1; press Enter. Arrow up and down change it by 0.001",
    });
    const reset = h("button.cv-reset", { type: "button" });
    const words = h("span.cv-words", {
      title: "How often two unrelated keywords of this knowledge base would count as the same at this threshold",
    });
    const message = h("p.cv-message", { role: "alert", id: `cv-tau-message-${mounted}` });
    const rest = density("cv-density-b");
    const absorbed = density("cv-density-a");
    const ticks = h("div.cv-ticks", { "aria-hidden": "true" });
    const mark = h("div.cv-default-mark", { "aria-hidden": "true" });
    const proposedMark = h("div.cv-proposed-mark", { "aria-hidden": "true" });
    const origin = h("span.cv-origin");
    const proposal = h("button.cv-proposal", { type: "button" });
    const advice = h("div.cv-advice", null, origin, proposal);
    const low = h("span.cv-end");
    const caption = h("span.cv-caption");
    typed.setAttribute("aria-describedby", message.id);
    const element = h(
      "div.cv-tau", null,
      h(
        "div.cv-control-head", null,
        h("label.cv-label", {
          for: id,
          title: "A document keyword whose cosine to one of the question’s keywords reaches this value is set aside (A); the rest (B) makes the causal score",
        }, "Absorption threshold", h("span.cv-symbol", null, " τ")),
        typed, words, reset,
      ),
      slider,
      h("div.cv-strip", null, rest.element, absorbed.element, ticks, mark, proposedMark),
      h("div.cv-ends", null, low, caption, h("span.cv-end", null, "1.00")),
      advice,
      message,
    );

    let start = 0;
    let standard = 0;
    let tau = 0;
    let proposed = null;
    let pairs = [];
    const place = (value) => Math.min(100, Math.max(0, (100 * (value - start)) / (1 - start)));
    const say = (text) => {
      setText(message, text);
      typed.setAttribute("aria-invalid", text ? "true" : "false");
      toggle(element, "cv-wrong", Boolean(text));
    };
    const commit = () => {
      const read = ns.model.readTau(typed.value, tau);
      if (read.error) return say(read.error);
      say("");
      return change({ tau: read.value }, false);
    };
    const restore = () => {
      say("");
      typed.value = plain(tau);
    };
    slider.addEventListener("input", () => {
      if (message.cvText) restore();
      change({ tau: Number(slider.value) }, true);
    });
    slider.addEventListener("change", () => change({}, false));
    typed.addEventListener("change", commit);
    typed.addEventListener("keydown", (event) => {
      if (event.key === "Enter") commit();
      if (event.key === "Escape") restore();
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
      event.preventDefault();
      const value = Math.min(1, Math.max(-1, tau + (event.key === "ArrowUp" ? STEP : -STEP)));
      say("");
      change({ tau: Number(value.toFixed(6)) }, false);
      typed.value = plain(Number(value.toFixed(6)));
    });
    reset.addEventListener("click", () => {
      restore();
      change({ tau: standard }, false);
    });
    const propose = () => {
      restore();
      change({ tau: proposed }, false);
    };
    proposal.addEventListener("click", propose);
    proposedMark.addEventListener("click", propose);

    function load(trace) {
      const { cosines, exact } = ns.model.cosinesOf(trace);
      start = ns.model.spanStart(trace, cosines);
      standard = trace.settings.tau;
      pairs = trace.random_pairs;
      slider.min = String(start);
      slider.step = String(STEP);
      const shape = outline(cosines, start);
      rest.path.setAttribute("d", shape);
      absorbed.path.setAttribute("d", shape);
      mark.style.left = `${place(standard)}%`;
      advise(trace);
      setText(low, start.toFixed(2));
      const all = cosines.length + exact;
      setText(
        caption,
        `where the candidates’ keywords lie${exact ? ` · ${exact} of ${all} are exact, always absorbed` : ""}`,
      );
      setText(reset, `default ${plain(standard)}`);
      reset.setAttribute("aria-label", `Reset the absorption threshold to its default, ${plain(standard)}`);
      say("");
      // A new span may have moved the slider: write both fields again.
      slider.cvTau = typed.cvTau = undefined;
    }

    /** Say where the default comes from, and what this knowledge base proposes; a trace may not tell. */
    function advise(trace) {
      const found = trace.default_tau ?? null;
      proposed = found && found.proposed;
      toggle(advice, "cv-hidden", !found);
      for (const part of [proposal, proposedMark]) toggle(part, "cv-hidden", proposed === null);
      if (!found) return;
      const known = (proposed === null ? TOO_FEW : ORIGINS)[found.origin];
      setText(origin, found.tau === standard ? known : `asked with ${plain(standard)}`);
      setAttr(origin, "title", found.reason);
      if (proposed === null) return;
      const words = `proposed ${plain(Number(proposed.toFixed(3)))}: absorbs ${percent(CausalVizRerank.absorbedShare(pairs, proposed))} of random pairs`;
      setText(proposal, words);
      proposal.title = "What the cosines of random pairs of this knowledge base’s keywords propose; click to use it";
      proposedMark.title = `${words}; click to use it`;
      proposedMark.style.left = `${place(proposed)}%`;
    }

    function choose(trace, index) {
      const found = index < 0 ? [] : trace.candidates[index].keywords;
      ticks.replaceChildren(
        ...found
          .filter((keyword) => !keyword.exact && keyword.cosine !== null)
          .map((keyword) => {
            const tick = h("span.cv-tick");
            tick.style.left = `${place(keyword.cosine)}%`;
            return tick;
          }),
      );
    }

    function update(state) {
      const exactOnly = state.mode === "exact";
      tau = state.tau;
      const at = place(tau);
      const text = plain(tau);
      if (slider.cvTau !== tau) {
        slider.cvTau = tau;
        if (Number(slider.value) !== tau) slider.value = String(tau);
      }
      // Only when it changed: a person may be typing.
      if (typed.cvTau !== tau) {
        typed.cvTau = tau;
        typed.value = text;
      }
      setAttr(slider, "aria-valuetext", `${text}, ${share(state)}`);
      setStyle(element, "--cv-at", `${at.toFixed(2)}%`);
      toggle(element, "cv-unused", exactOnly);
      setAttr(proposal, "aria-pressed", String(tau === proposed));
      toggle(reset, "cv-hidden", Math.abs(tau - standard) < 5e-7);
      setText(words, share(state));
    }

    function share(state) {
      if (state.mode === "exact") return "not used with exact words only";
      const below = state.tau < start ? "left of the slider’s range; " : "";
      if (!pairs.length) return `${below}no random keyword pairs to compare with`;
      return `${below}absorbs ${percent(CausalVizRerank.absorbedShare(pairs, state.tau))} of random keyword pairs`;
    }

    return { element, slider, load, choose, update };
  }

  function weightControl(change) {
    const id = `cv-alpha-${mounted}`;
    const slider = h("input.cv-range.cv-range-alpha", { type: "range", id, min: 0, max: 1, step: 0.01 });
    const value = h("output.cv-value", { for: id });
    const note = h("span.cv-words");
    const element = h(
      "div.cv-alpha", null,
      h(
        "div.cv-control-head", null,
        h("label.cv-label", {
          for: id, title: "The hybrid score is α × similarity + (1 − α) × causal score, each stretched to 0..1 over the candidates",
        }, "Hybrid weight", h("span.cv-symbol", null, " α")),
        value, note,
      ),
      slider,
      h("div.cv-ends", null, h("span.cv-end", null, "only the causal score"), h("span.cv-end", null, "only similarity")),
    );
    // Whoever moves it wants to see the hybrid.
    slider.addEventListener("input", () => change({ alpha: Number(slider.value), method: "hybrid" }, true));
    slider.addEventListener("change", () => change({}, false));
    function update(state) {
      if (slider.cvAlpha !== state.alpha) {
        slider.cvAlpha = state.alpha;
        if (Number(slider.value) !== state.alpha) slider.value = String(state.alpha);
      }
      setStyle(element, "--cv-at", `${(100 * state.alpha).toFixed(2)}%`);
      setText(value, plain(state.alpha));
      toggle(element, "cv-unused", state.method !== "hybrid");
      setText(note, state.method === "hybrid" ? "" : "move it to rank by the hybrid");
    }
    return { element, slider, update };
  }

  ns.controls = function controls(change) {
    mounted++;
    const tau = thresholdControl(change);
    const alpha = weightControl(change);
    const method = select("method", "Rank by", GUARD_HINT, [
      ["hybrid", "hybrid of both"], ["causal", "causal score"], ["guarded", "guarded similarity"], ["similarity", "similarity"],
    ], (value) => change({ method: value }, false));
    const crossEncoder = h("option", { value: "cross-encoder" }, "cross-encoder");
    const mode = select("mode", "Set aside", "Which document keywords count as shared with the question", [
      ["semantic", "similar words"], ["exact", "exact words only"],
    ], (value) => change({ mode: value }, false));
    const emptyB = select("empty", "If nothing is left", "Where a document goes whose every keyword is shared with the question", [
      ["last", "rank it last"], ["fallback", "keep its similarity"],
    ], (value) => change({ emptyB: value }, false));
    const fields = { method: method.field, mode: mode.field, emptyB: emptyB.field };
    return {
      element: h(
        "div.cv-controls", { role: "group", "aria-label": "Settings of the re-ranking" },
        tau.element, alpha.element, h("div.cv-selects", null, method.element, mode.element, emptyB.element),
      ),
      load(trace) {
        tau.load(trace);
        // Offered only where there is something to rank by.
        if (ns.model.crossed(trace)) method.field.append(crossEncoder);
        else crossEncoder.remove();
      },
      choose: tau.choose,
      update(state) {
        tau.update(state);
        alpha.update(state);
        for (const [name, field] of Object.entries(fields)) if (field.value !== state[name]) field.value = state[name];
      },
    };
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
