// Plain words for what the API calls by name. A name that is not here (an administrator added it) is shown as it is.

import { gettext } from "./i18n.js";

/** What the API gives as the text or key of a memory that is deleted by now. */
export const DELETED = "(deleted)";

// apps/core/words.py, in the language of the page.
export const WORDS = JSON.parse(document.getElementById("words").textContent);

/** Return the words for `name` of this kind: "emotion", "tone", "formality", "category", "kind", "action" or "sensitive". */
export function label(kind, name) {
  return WORDS[kind][name] ?? String(name).replaceAll("_", " ");
}

/** Return the words for a layer of the context, `{index, name}` (C4). */
export function layerLabel({ index, name }) {
  return WORDS.layers[index] ?? name;
}

/** Return any JSON value as a person would write it. */
export function formatValue(value) {
  if (value === null || value === undefined) return "–";
  if (value === true) return gettext("yes");
  if (value === false) return gettext("no");
  if (Array.isArray(value)) return value.map(formatValue).join(gettext(", "));
  if (typeof value === "object") {
    return Object.entries(value).map(([key, inner]) => `${key}: ${formatValue(inner)}`).join(gettext("; "));
  }
  return String(value);
}
