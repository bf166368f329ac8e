// What can be done with a session of the list.

import { button, el, icon } from "./dom.js";
import { exportSession } from "./export.js";
import { gettext } from "./i18n.js";
import { isPressed } from "./shortcuts.js";

/** `actions`: {onRename, onPin, onArchive, onDelete}, each called with the session. */
export class SessionMenu {
  constructor(actions) {
    this.actions = actions;
    this.menu = el("div", { class: "menu", popover: "auto", role: "menu" });
    this.menu.addEventListener("keydown", (event) => moveAmong([...this.menu.querySelectorAll("button")], event));
    document.body.append(this.menu);
  }

  /** Open below `anchor`, or above it where there is no room. */
  open(session, anchor) {
    const item = (name, label, action, kind = "") => {
      const choose = () => {
        this.menu.hidePopover();
        action(session);
      };
      return button({ class: `menu-item ${kind}`, role: "menuitem", on: { click: choose } }, icon(name), label);
    };
    const { onRename, onPin, onArchive, onDelete } = this.actions;
    const { pinned, archived } = session;
    const items = [
      item("pencil", gettext("Rename"), onRename),
      // Archived sessions have no group of pinned ones.
      archived ? null : item("pin", pinned ? gettext("Unpin") : gettext("Pin"), onPin),
      item("archive", archived ? gettext("Unarchive") : gettext("Archive"), onArchive),
      item("download", gettext("Export"), exportSession),
      item("trash", gettext("Delete"), onDelete, "danger"),
    ];
    this.menu.replaceChildren(...items.filter(Boolean));
    this.menu.showPopover();
    const { left, bottom, top } = anchor.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.menu;
    this.menu.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
    this.menu.style.top = `${bottom + offsetHeight + 8 > innerHeight ? top - offsetHeight - 4 : bottom + 4}px`;
    this.menu.querySelector("button").focus();
  }
}

/** The keys of lists move the focus among `elements`. */
export function moveAmong(elements, event) {
  const at = elements.indexOf(document.activeElement);
  const to = { next: at + 1, previous: at - 1, first: 0, last: elements.length - 1 };
  const move = Object.keys(to).find((name) => isPressed(event, name));
  if (!move) return;
  event.preventDefault();
  elements[Math.max(0, Math.min(to[move], elements.length - 1))]?.focus();
}
