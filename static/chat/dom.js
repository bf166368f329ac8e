// Building elements. Text always goes in as text nodes: only markdown.js parses markup, and it sanitizes it.

const SVG = "http://www.w3.org/2000/svg";
const ICONS = new URL("./icons.svg", import.meta.url).href;

/**
 * Return a new element. `props` are attributes, except `on` (listeners by event name); a value of null, undefined or
 * false leaves an attribute out, true makes it empty. Children are nodes or text; null ones are left out.
 */
export function el(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return an icon of icons.svg; it says nothing to a screen reader, so its button needs a label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${ICONS}#${name}`);
  svg.append(use);
  return svg;
}

/** Return a button of type "button", so that it never submits a form it stands in. */
export function button(props, ...children) {
  return el("button", { type: "button", ...props }, ...children);
}

/** Return a square button with an icon, its label also shown as a tooltip. */
export function iconButton(name, label, props = {}) {
  return button({ class: "icon-button", "aria-label": label, title: label, ...props }, icon(name));
}

/** Return a small button with an icon and words. `kind` is a class more, `action` names it for tests and focus. */
export function smallButton(name, label, onClick, { kind = "", action = null } = {}) {
  return button({ class: `button small ${kind}`, "data-action": action, on: { click: onClick } }, icon(name), label);
}

/** Return an element for text that a person or a model wrote; see .free-text in base.css. */
export function freeText(tag, text, kind = "") {
  return el(tag, { class: `free-text ${kind}`, dir: "auto" }, text);
}

/** Return a list of named values, `[[name, value], …]`, of the class `kind`. */
export function definitions(kind, entries) {
  const items = entries.map(([name, value]) => el("div", {}, freeText("dt", name), freeText("dd", value)));
  return el("dl", { class: kind }, items);
}

/** Return the element with this id; the page is broken without it, so its absence is an error. */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}.`);
  return element;
}
