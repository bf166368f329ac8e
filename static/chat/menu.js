// The menu of a button: there is one for the page, filled with what can be done.

import { button, el, icon } from "./dom.js";
import { isPressed } from "./shortcuts.js";

const menu = el("div", { class: "menu", popover: "auto", role: "menu" });
menu.addEventListener("keydown", (event) => moveAmong(listItems(), event));
document.body.append(menu);

const listItems = () => [...menu.querySelectorAll(".menu-item")];

/**
 * Open below `anchor`, or above it where there is no room. `items`: `{sign, label}`, a node and a text, with `run()` or
 * `href`; `kind` is a class more; `checked` says which of several is the case. Null ones are left out.
 */
export function openMenu(anchor, items) {
  menu.replaceChildren(...items.filter(Boolean).map(menuItem));
  menu.showPopover();
  const { left, bottom, top } = anchor.getBoundingClientRect();
  const { offsetWidth, offsetHeight } = menu;
  const above = bottom + offsetHeight + 8 > innerHeight;
  menu.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(8, above ? top - offsetHeight - 4 : bottom + 4)}px`;
  (menu.querySelector('[aria-checked="true"]') ?? listItems()[0]).focus();
}

function menuItem({ sign, label, run, href, kind = "", checked = null }) {
  const name = el("span", { class: "free-text" }, label);
  if (href) return el("a", { class: `menu-item ${kind}`, role: "menuitem", href }, sign, name);
  const choose = () => {
    menu.hidePopover();
    run();
  };
  const role = checked === null ? "menuitem" : "menuitemradio";
  const props = { class: `menu-item ${kind}`, role, "aria-checked": checked === null ? null : String(checked) };
  return button({ ...props, on: { click: choose } }, sign, name, checked ? icon("check") : null);
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
