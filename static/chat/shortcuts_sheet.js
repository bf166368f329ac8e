// The sheet of keyboard shortcuts.

import { openDialog } from "./dialogs.js";
import { byId, el } from "./dom.js";
import { gettext } from "./i18n.js";
import { keyCaps, listShortcuts } from "./shortcuts.js";

export function openShortcuts() {
  byId("shortcuts-body").replaceChildren(...listShortcuts().map(groupOf));
  openDialog(byId("shortcuts"));
}

function groupOf({ title, shortcuts }) {
  return el("section", {}, el("h3", {}, title), el("dl", {}, shortcuts.map(rowOf)));
}

function rowOf({ name, label }) {
  const ways = keyCaps(name).map((caps) => el("span", { class: "keys" }, caps.map((cap) => el("kbd", {}, cap))));
  const separated = ways.flatMap((way, index) => (index ? [" ", gettext("or"), " ", way] : [way]));
  return el("div", {}, el("dt", {}, label), el("dd", {}, separated));
}
