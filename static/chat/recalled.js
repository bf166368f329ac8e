// One recalled memory and why it was recalled: the components of its score (K5, A4) as bars with plain words.

import { button, el, freeText } from "./dom.js";
import { formatDate, formatScore, gettext } from "./i18n.js";
import { DELETED, label, WORDS } from "./labels.js";
import { forgetButton, muteButton } from "./remembered.js";

const FULL_SCORE = 1.3 * (0.4 + 0.2 * 1.5 + 0.15 + 0.1 + 0.15);

const FULL_ATOMIC_SCORE = 10;
// Of a past message: standard deviations that few are above the others.
const FULL_MESSAGE_SCORE = 8;
const LEAST_SHOWN = 0.005;

/** Return a horizontal bar; its value is given to screen readers as a meter's. */
export function bar({ value, full, title }) {
  const fill = el("span", { class: "bar-fill" });
  fill.style.setProperty("--share", Math.max(0, Math.min(1, value / full)));
  const range = { "aria-valuemin": 0, "aria-valuemax": Number(full.toFixed(3)), "aria-valuenow": value };
  return el("span", { class: "bar", role: "meter", "aria-label": title, ...range }, fill);
}

/** Return a card for one of `memories_used[]`; `open` shows its components from the start. */
export function recalledCard(memory, { open = false, onForgotten }) {
  const isMessage = memory.kind === "message";
  const full = isMessage ? FULL_MESSAGE_SCORE : memory.parts ? FULL_ATOMIC_SCORE : FULL_SCORE;
  const score = bar({ value: Math.max(0, memory.score), full, title: gettext("Score") });
  const deleted = memory.text === DELETED;
  const card = el("details", { class: "memory-card" });
  const changes = deleted || isMessage ? [] : [
    muteButton({ id: memory.id, kind: memory.kind, card }),
    forgetButton({ id: memory.id, kind: memory.kind, text: memory.text, onForgotten }),
  ];
  card.append(
    el(
      "summary",
      {},
      freeText("span", deleted ? gettext("(deleted)") : memory.text, "memory-text"),
      el("span", { class: "memory-score" }, score, el("b", {}, formatScore(memory.score))),
    ),
    ...[components(memory)].filter(Boolean),
    el(
      "div",
      { class: "memory-foot" },
      el("span", { class: "badge" }, label("kind", memory.kind)),
      changes.length ? el("span", { class: "memory-changes" }, changes) : null,
      isMessage && !deleted ? messageLink(memory) : null,
    ),
  );
  card.open = open; // last: it has its listeners by then
  return card;
}

function messageLink({ session_id: session, message_id: message, created_at: time }) {
  return el("a", { class: "message-link", href: `/s/${session}#${message}`, title: formatDate(new Date(time)) }, gettext("Open message"));
}

function components(memory) {
  const about = el("p", { class: "about", "aria-live": "off" }, gettext("Hover over a bar to see what it means."));
  const rows = listComponents(memory).map((component) => {
    const explain = () => (about.textContent = component.about);
    const on = { mouseenter: explain, focus: explain, click: explain };
    return button(
      { class: "component", "aria-description": component.about, "data-component": component.field, on },
      el("span", {}, component.title),
      bar({ value: Math.max(0, component.value), full: component.full, title: component.title }),
      el("b", {}, formatScore(component.value)),
    );
  });
  return rows.length ? el("div", { class: "components" }, rows, about) : null;
}

// An atomic memory of a turn that kept no parts has the two measures that its score was made of then.
function listComponents(memory) {
  if (memory.parts) {
    return WORDS.parts
      .map((part) => ({ ...part, value: memory.parts[part.field] ?? 0 }))
      .filter(({ value }) => Math.abs(value) >= LEAST_SHOWN);
  }
  return WORDS.components
    .filter(({ field }) => typeof memory[field] === "number")
    .map((component) => ({ ...component, value: memory[component.field] }));
}
