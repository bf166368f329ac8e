// What is shown while something is on its way.

import { el } from "./dom.js";
import { gettext } from "./i18n.js";

/** Return grey lines of these widths (percent) in place of text that is being loaded. */
export function skeleton(widths) {
  const lines = widths.map((width) => {
    const line = el("span");
    line.style.inlineSize = `${width}%`;
    return line;
  });
  const said = el("span", { class: "visually-hidden" }, gettext("Loading"));
  return el("div", { class: "skeleton", role: "status" }, said, lines);
}

/** Return the three dots of a reply that has not begun. */
export function thinking() {
  const said = el("span", { class: "visually-hidden" }, gettext("Writing a reply"));
  return el("div", { class: "thinking" }, said, el("i"), el("i"), el("i"));
}
