// Renaming a session where its title stands.

import { el } from "./dom.js";
import { gettext } from "./i18n.js";
import { isPressed } from "./shortcuts.js";

/**
 * Return a field for the title. `onDone(title, {byKey})` is called once: with the new title, or with null where nothing
 * is to change. Enter saves and so does leaving the field; Escape restores.
 */
export function titleField(current, { onDone }) {
  const field = el("input", {
    class: "field-input session-title",
    maxlength: 200,
    autocomplete: "off",
    enterkeyhint: "done",
    "aria-label": gettext("Title"),
  });
  field.value = current;
  let done = false;
  const finish = (title, byKey) => {
    if (done) return;
    done = true;
    onDone(title && title !== current ? title : null, { byKey });
  };
  field.addEventListener("keydown", (event) => {
    const save = isPressed(event, "save");
    if (!save && !isPressed(event, "restore")) return;
    event.preventDefault();
    event.stopPropagation(); // Escape closes neither the drawer nor a reply
    finish(save ? field.value.trim() : null, true);
  });
  field.addEventListener("blur", () => {
    if (document.hasFocus()) finish(field.value.trim(), false); // else the whole window was left
  });
  return field;
}
