// What a message told the memory to do, confirmed under its reply: undone, reviewed or completed right there (L9).

import { el, freeText, icon, smallButton } from "./dom.js";
import { gettext, interpolate, ngettext } from "./i18n.js";

const SHOWN = 5; // texts of one command

// What is a secret is told below its message.
const TITLES = {
  stored: gettext("Stored:"),
  known: gettext("Already remembered:"),
  waiting: gettext("Waits for your review:"),
  forgotten: gettext("Forgotten:"),
  not_found: gettext("No matching memory found:"),
  undone: gettext("Undone:"),
  paused: gettext("Not stored, as remembering is paused:"),
};
const ICONS = { not_found: "alert", forgotten: "trash", undone: "retry", waiting: "alert", paused: "pause" };

/**
 * Return the confirmations of a turn, or null where it has none.
 *
 * `actions`: {undo(command), forget(candidate)}, each a promise; `reviewUrl`: where pending memories wait.
 */
export function commandNotes(turn, { actions, reviewUrl }) {
  const shown = (turn?.commands ?? []).filter((command) => TITLES[command.status]);
  if (!shown.length) return null;
  const notes = shown.map((command) => commandNote(command, { actions, reviewUrl }));
  return el("ul", { class: "commands", "aria-label": gettext("Changes to memory") }, notes);
}

function commandNote(command, { actions, reviewUrl }) {
  const { status, texts, operation } = command;
  const undo = () => smallButton("retry", gettext("Undo"), () => actions.undo(command), { kind: "quiet", action: `undo ${operation}` });
  return el(
    "li",
    { class: `command ${status}`, "data-status": status },
    icon(ICONS[status] ?? "check"),
    el("div", { class: "command-text" }, el("strong", {}, titleOf(command)), " ", textsOf(texts)),
    status === "waiting" ? el("a", { class: "button small quiet", href: reviewUrl }, gettext("Review")) : null,
    operation && (status === "stored" || status === "forgotten") ? undo() : null,
    status === "not_found" ? candidates(command, actions) : null,
  );
}

function titleOf({ status, unclear }) {
  return status === "not_found" && unclear.length ? gettext("Not forgotten yet:") : TITLES[status];
}

function textsOf(texts) {
  if (!texts.length) return null;
  if (texts.length === 1) return freeText("span", texts[0]);
  const more = texts.length - SHOWN;
  const items = texts.slice(0, SHOWN).map((text) => freeText("li", text));
  if (more > 0) items.push(el("li", { class: "soft" }, interpolate(ngettext("and %s more", "and %s more", more), [more])));
  return el("ul", {}, items);
}

function candidates({ unclear }, actions) {
  if (!unclear.length) return null;
  const items = unclear.map((memory) =>
    el(
      "li",
      {},
      freeText("span", memory.text),
      smallButton("trash", gettext("Forget"), () => actions.forget(memory), { kind: "quiet", action: `forget ${memory.id}` }),
    ),
  );
  return el("div", { class: "candidates" }, el("p", {}, gettext("Did you mean one of these?")), el("ul", {}, items));
}
