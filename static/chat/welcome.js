// What an empty conversation shows: how to begin, and whether to be remembered.

import { button, el, icon } from "./dom.js";
import { gettext, interpolate } from "./i18n.js";
import { spaceBadge } from "./spaces.js";

const SUGGESTIONS = [
  gettext("My name is Alex, and my favourite colour is blue."),
  gettext("I am a bit anxious about my exam tomorrow."),
  gettext("I write code in Python and run every morning."),
  gettext("What do you remember about me?"),
];

const LASTING = gettext("Next to every reply you can see what I recalled and why. You can correct it or make me forget it.");
const PAUSED = gettext("I still recall what I know. What you say now is kept in this conversation only, and I learn nothing from it.");
const TEMPORARY = gettext("No memories are read or written, and the conversation is deleted once it is idle.");

/** `paused`: whether remembering is. `space`: the one it will be in, or null. `actions`: {onSuggestion(text), onTemporary(value)}. */
export function welcome({ temporary, paused, space, actions }) {
  const toggle = button(
    {
      class: "switch",
      role: "switch",
      "aria-checked": String(temporary),
      "aria-describedby": "temporary-about",
      on: { click: () => actions.onTemporary(!temporary) },
    },
    el("span", { class: "switch-track" }),
    gettext("Temporary conversation"),
  );
  return el(
    "div",
    { class: "welcome" },
    el("div", { class: "welcome-mark" }, icon(temporary ? "temporary" : paused ? "pause" : "memory")),
    el("h2", {}, sayTitle(temporary, paused)),
    el("p", { class: "soft", id: "temporary-about" }, temporary ? TEMPORARY : paused ? PAUSED : LASTING),
    space && el("p", { class: "welcome-space free-text" }, spaceBadge(space.id), paused ? null : sayWhereItGoes(space)),
    temporary ? null : el("ul", { class: "suggestions" }, SUGGESTIONS.map((text) => suggestion(text, actions))),
    toggle,
  );
}

function sayTitle(temporary, paused) {
  if (temporary) return gettext("Nothing said here is remembered");
  return paused ? gettext("Remembering is paused") : gettext("I remember what you tell me");
}

function sayWhereItGoes({ learns_to: target }) {
  return target === "space" ? gettext("What I learn here stays in this space.") : gettext("What I learn here counts everywhere.");
}

function suggestion(text, actions) {
  const choose = () => actions.onSuggestion(text);
  return el("li", {}, button({ class: "suggestion", on: { click: choose } }, text));
}
