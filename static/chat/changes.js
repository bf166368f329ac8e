// What a turn put in the place of something else, under its reply: "city: Berlin → Hamburg", to be undone right there.

import { el, freeText, icon, smallButton } from "./dom.js";
import { gettext } from "./i18n.js";
import { formatValue } from "./labels.js";

/** Return the changes of a reply as a list, or null without any. `undo(change)` is what a click asks for. */
export function changeNotes(changes, { undo }) {
  if (!changes.length) return null;
  const notes = changes.map((change) => changeNote(change, undo));
  return el("ul", { class: "commands", "aria-label": gettext("Changes to memory") }, notes);
}

function changeNote(change, undo) {
  const { key, before, after, operation, undone } = change;
  const [old, now] = undone ? [after, before] : [before, after];
  return el(
    "li",
    { class: `command change ${undone ? "undone" : ""}` },
    icon(undone ? "undo" : "memory"),
    el(
      "div",
      { class: "command-text" },
      freeText("strong", key),
      " ",
      el("del", {}, freeText("span", formatValue(old))),
      el("span", { "aria-hidden": "true" }, " → "),
      el("ins", {}, freeText("span", formatValue(now))),
    ),
    undone
      ? el("span", { class: "soft" }, gettext("Undone"))
      : smallButton("undo", gettext("Undo"), () => undo(change), { kind: "quiet", action: `undo ${operation}` }),
  );
}
