// Plain words for what the API calls by name. A name that is not here (an administrator added it) is shown as it is.

import { gettext, pgettext } from "./i18n.js";

/** What the API gives as the text or key of a memory that is deleted by now. */
export const DELETED = "(deleted)";

const LABELS = {
  emotion: {
    neutral: gettext("Neutral"),
    happy: gettext("Happy"),
    excited: gettext("Excited"),
    grateful: gettext("Grateful"),
    curious: gettext("Curious"),
    sad: gettext("Sad"),
    anxious: gettext("Anxious"),
    frustrated: gettext("Frustrated"),
    confused: gettext("Confused"),
    help_seeking: gettext("Seeking help"),
    info_seeking: gettext("Seeking information"),
    validation_seeking: gettext("Seeking confirmation"),
    unknown: gettext("Unknown"),
  },
  tone: {
    professional: gettext("Professional"),
    warm: gettext("Warm"),
    enthusiastic: gettext("Enthusiastic"),
    gracious: gettext("Gracious"),
    engaging: gettext("Engaging"),
    empathetic: gettext("Empathetic"),
    calm_reassuring: gettext("Calm and reassuring"),
    patient_solution_focused: gettext("Patient, looking for a solution"),
    clear_explanatory: gettext("Clear and explaining"),
    helpful: gettext("Helpful"),
    informative: gettext("Informative"),
    supportive: gettext("Supportive"),
  },
  formality: { casual: pgettext("formality", "Casual"), formal: pgettext("formality", "Formal") },
  category: { preference: gettext("Preference"), fact: gettext("Fact"), pattern: gettext("Habit") },
  kind: {
    long_term: gettext("Long-term memory"),
    atomic: gettext("Atomic memory"),
    message: gettext("Past message"),
  },
  action: {
    created: gettext("New"),
    superseded: gettext("Updated"),
    refreshed: gettext("Mentioned again"),
    pending: gettext("Waiting for review"),
  },
};

const LAYERS = [
  gettext("Instructions and strategy"),
  gettext("Profile"),
  gettext("Working memory"),
  gettext("Recalled memories"),
  gettext("Earlier conversations"),
  gettext("This conversation"),
  gettext("The new message"),
];

/** Return the words for `name` of this kind: "emotion", "tone", "formality", "category", "kind" or "action". */
export function label(kind, name) {
  return LABELS[kind][name] ?? String(name).replaceAll("_", " ");
}

/** Return the words for a layer of the context, `{index, name}` (C4). */
export function layerLabel({ index, name }) {
  return LAYERS[index] ?? name;
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
