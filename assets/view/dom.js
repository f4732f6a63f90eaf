/* Small tools for drawing: elements, text that changes only when it must, numbers as people read them.
 *
 * Data reaches the page through text nodes and attributes alone, never as markup.
 */
(function (ns) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";
  /** First strong isolate ... pop: in tooltips, a hostile direction mark cannot turn its neighbours around. */
  const ISOLATE = ["\u2068", "\u2069"];

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /** Build `tag.class1.class2` with attributes and children (nodes or strings). */
  function h(tag, attributes, ...children) {
    const [name, ...classes] = tag.split(".");
    const node = document.createElement(name);
    if (classes.length) node.className = classes.join(" ");
    return fill(node, attributes, children);
  }

  /** The same for SVG. */
  function s(tag, attributes, ...children) {
    const [name, ...classes] = tag.split(".");
    const node = document.createElementNS(SVG, name);
    if (classes.length) node.setAttribute("class", classes.join(" "));
    return fill(node, attributes, children);
  }

  /** Write text only if it changed; the last value is remembered so that the DOM is not asked. */
  function setText(node, text) {
    if (node.cvText === text) return;
    node.cvText = text;
    node.textContent = text;
  }

  function setAttr(node, name, value) {
    const key = `cv:${name}`;
    if (node[key] === value) return;
    node[key] = value;
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  }

  function setStyle(node, name, value) {
    const key = `cv-style:${name}`;
    if (node[key] === value) return;
    node[key] = value;
    node.style.setProperty(name, value);
  }

  function toggle(node, name, on) {
    const key = `cv-class:${name}`;
    if (node[key] === on) return;
    node[key] = on;
    node.classList.toggle(name, on);
  }

  /** A real with a fixed number of decimals and a true minus sign; "none" stands for "not computed". */
  function fixed(value, digits = 4, none = "–") {
    if (!Number.isFinite(value)) return none;
    const text = value.toFixed(digits);
    return text.charCodeAt(0) === 45 ? `${Number(text) === 0 ? "" : "−"}${text.slice(1)}` : text;
  }

  /** A cosine as typed in a field: as many decimals as it has, at most six. */
  function plain(value) {
    return String(Number(value.toFixed(6)));
  }

  function signed(value, digits = 4) {
    const text = fixed(value, digits);
    return value > 0 && Number.isFinite(value) ? `+${text}` : text;
  }

  /** A share as "31 %"; small ones keep a decimal, and none but zero reads as zero. */
  function percent(share) {
    const value = 100 * share;
    if (value > 0 && value < 0.1) return "under 0.1 %";
    return `${value > 0 && value < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
  }

  function count(number, one, many = `${one}s`) {
    return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
  }

  /** Cut to a length in characters, not in halves of surrogate pairs. */
  function shorten(text, most) {
    if (text.length <= most) return text;
    return `${Array.from(text.slice(0, 2 * most)).slice(0, most - 1).join("")}…`;
  }

  /** Cut to a width counted in Latin letters: a Chinese character takes two. */
  function shortenWide(text, most) {
    let width = 0;
    let kept = "";
    for (const character of text.slice(0, 4 * most)) {
      width += character.codePointAt(0) > 0x2e80 ? 1.9 : 1;
      if (width > most) return `${kept}…`;
      kept += character;
    }
    return kept;
  }

  function isolate(text) {
    return ISOLATE[0] + text + ISOLATE[1];
  }

  /** An inline piece of foreign text: of its own language and direction. */
  function foreign(tag, text, attributes) {
    return h(tag, { dir: "auto", lang: "", ...attributes }, text);
  }

  ns.dom = {
    h, s, setText, setAttr, setStyle, toggle, fixed, plain, signed, percent, count, shorten, shortenWide, isolate, foreign,
  };
})((globalThis.CausalVizView = globalThis.CausalVizView || {}));
