// Every keyboard shortcut of the page, declared once: what listens to them and what lists them read the same table.

import { gettext } from "./i18n.js";

const APPLE = /Mac|iPhone|iPad/.test(navigator.platform);

// keys: one or several ways to press it; Mod is Ctrl, on Apple's keyboards Cmd. Where `anywhere` is not set, the part of
// the page that has the focus listens itself.
const GROUPS = [
  {
    title: gettext("Everywhere"),
    shortcuts: [
      { name: "palette", keys: ["Mod+K"], label: gettext("Search and commands"), anywhere: true },
      { name: "new", keys: ["Mod+Shift+O"], label: gettext("New conversation"), anywhere: true },
      { name: "details", keys: ["Mod+."], label: gettext("Show or hide the memory used in a reply"), anywhere: true },
      { name: "rename", keys: ["F2"], label: gettext("Rename the conversation"), anywhere: true },
      { name: "shortcuts", keys: ["?", "Mod+/"], label: gettext("Keyboard shortcuts"), anywhere: true },
      { name: "stop", keys: ["Escape"], label: gettext("Stop the reply, or close what is open"), anywhere: true },
    ],
  },
  {
    title: gettext("In the message field"),
    shortcuts: [
      { name: "send", keys: ["Enter"], label: gettext("Send") },
      { name: "newline", keys: ["Shift+Enter"], label: gettext("New line") },
    ],
  },
  {
    title: gettext("In lists"),
    shortcuts: [
      { name: "next", keys: ["ArrowDown"], label: gettext("Next") },
      { name: "previous", keys: ["ArrowUp"], label: gettext("Previous") },
      { name: "first", keys: ["Home"], label: gettext("First") },
      { name: "last", keys: ["End"], label: gettext("Last") },
      { name: "open", keys: ["Enter"], label: gettext("Open") },
    ],
  },
  {
    title: gettext("While you rename"),
    shortcuts: [
      { name: "save", keys: ["Enter"], label: gettext("Save") },
      { name: "restore", keys: ["Escape"], label: gettext("Keep the old title") },
    ],
  },
];

const BY_NAME = new Map(GROUPS.flatMap(({ shortcuts }) => shortcuts).map((shortcut) => [shortcut.name, shortcut]));

const CAPS = {
  Mod: APPLE ? "⌘" : "Ctrl",
  Shift: APPLE ? "⇧" : "Shift",
  Escape: "Esc",
  ArrowDown: "↓",
  ArrowUp: "↑",
};

/** Whether this key event is the shortcut of this name. While an input method composes, nothing is. */
export function isPressed(event, name) {
  // Safari ends a composition before this event, and says so only by keyCode 229.
  if (event.isComposing || event.keyCode === 229) return false;
  return BY_NAME.get(name).keys.some((keys) => matches(event, keys.split("+")));
}

function matches(event, parts) {
  const key = parts.at(-1);
  const [mod, other] = APPLE ? [event.metaKey, event.ctrlKey] : [event.ctrlKey, event.metaKey];
  if (mod !== parts.includes("Mod") || other || event.altKey) return false;
  // Which marks need Shift is up to the keyboard.
  const isMark = key.length === 1 && key.toLowerCase() === key.toUpperCase();
  if (!isMark && event.shiftKey !== parts.includes("Shift")) return false;
  return event.key.toLowerCase() === key.toLowerCase();
}

/**
 * Listen to the shortcuts that work anywhere. `actions`: what each of them does, by name; false from one means that it
 * had nothing to do, and leaves the key to the browser. In a field, keys that write something write it.
 */
export function bindShortcuts(actions) {
  document.addEventListener("keydown", (event) => {
    for (const { name, anywhere } of BY_NAME.values()) {
      if (!anywhere || event.defaultPrevented || !isPressed(event, name)) continue;
      const writes = event.key.length === 1 && !event.ctrlKey && !event.metaKey;
      if (writes && event.target.closest("input, textarea, select, [contenteditable]")) continue;
      if (document.querySelector("dialog[open]")) {
        if (event.ctrlKey || event.metaKey) event.preventDefault(); // or the browser's own Ctrl-K would answer
      } else if (actions[name]() !== false) {
        event.preventDefault();
      }
    }
  });
}

/** Return what the keys of a shortcut are called on this keyboard, for each way to press it: [["Ctrl", "K"], …]. */
export function keyCaps(name) {
  return BY_NAME.get(name).keys.map((keys) => keys.split("+").map((key) => CAPS[key] ?? key));
}

/** Put a shortcut's keys beside its button: elements with data-shortcut, and the kbd in them. */
export function labelShortcuts(root = document) {
  for (const element of root.querySelectorAll("[data-shortcut]")) {
    const name = element.dataset.shortcut;
    const keys = BY_NAME.get(name).keys.map((way) => way.replace("Mod", APPLE ? "Meta" : "Control"));
    element.setAttribute("aria-keyshortcuts", keys.join(" "));
    const shown = element.querySelector("kbd");
    if (shown) shown.textContent = keyCaps(name)[0].join(APPLE ? "" : " ").replace("Shift ", "⇧"); // there is little room
  }
}

/** Return all shortcuts by where they work: [{title, shortcuts: [{name, label}]}]. */
export function listShortcuts() {
  return GROUPS;
}
