// The person's spaces as the page knows them (P1), their colours, and the list to choose one from.

import { api } from "./api.js";
import { byId, el, freeText } from "./dom.js";
import { gettext } from "./i18n.js";

// By the last digit of its ID, as apps/accounts/spaces.py has it; tokens.css says what they look like.
const COLOURS = ["teal", "blue", "violet", "rose", "orange", "green", "cyan", "amber"];
const MOST = 200;

/** Has the event "change". */
export const spaceChanges = new EventTarget();

let spaces = JSON.parse(byId("known-spaces").textContent); // in the order in which they were made

export function listSpaces() {
  return spaces;
}

/** Return the space with this ID, or null where there is none or it is not known here. */
export function findSpace(id) {
  return spaces.find((space) => space.id === id) ?? null;
}

export async function createSpace(body) {
  return keep(await api.createSpace(body));
}

export async function updateSpace(id, changes) {
  return keep(await api.updateSpace(id, changes));
}

/** Read them anew: one was made or deleted without this page's doing. */
export async function reloadSpaces() {
  spaces = (await api.listSpaces({ limit: MOST })).results;
  spaceChanges.dispatchEvent(new Event("change"));
}

function keep(space) {
  spaces = findSpace(space.id) ? spaces.map((other) => (other.id === space.id ? space : other)) : [...spaces, space];
  spaceChanges.dispatchEvent(new Event("change"));
  return space;
}

/** Return the dot of a space in its colour, null: of none. It says nothing to a screen reader. */
export function spaceDot(id) {
  const dot = el("span", { class: `space-dot ${id ? "" : "none"}`, "aria-hidden": "true" });
  if (id) dot.style.setProperty("--space-dot", `var(--space-${COLOURS[Number.parseInt(id.at(-1), 16) % COLOURS.length]})`);
  return dot;
}

/** Return a dot that stands alone, with the name of its space as a tooltip. */
export function namedDot(id) {
  const dot = spaceDot(id);
  const name = findSpace(id)?.name;
  if (name) {
    dot.title = name;
    dot.setAttribute("role", "img");
    dot.setAttribute("aria-label", name);
    dot.removeAttribute("aria-hidden");
  }
  return dot;
}

/** Return a badge with the dot and the name of a space, or null for none. */
export function spaceBadge(id) {
  const space = findSpace(id);
  return space && el("span", { class: "badge space-badge" }, spaceDot(id), freeText("span", space.name));
}

/** Return items of a menu to choose a space or none from. `onChoose(id)`: null for none. */
export function spaceChoices(current, onChoose) {
  const choice = (id, label) => ({ sign: spaceDot(id), label, checked: id === current, run: () => onChoose(id) });
  const shown = spaces.filter(({ id, archived }) => !archived || id === current);
  return [choice(null, gettext("No space")), ...shown.map(({ id, name }) => choice(id, name))];
}
