// One recalled memory and why it was recalled: the components of its score (SPEC, K5, A4) as bars with plain words.

import { button, el, freeText } from "./dom.js";
import { formatDate, formatScore, gettext } from "./i18n.js";
import { DELETED, label } from "./labels.js";
import { forgetButton } from "./remembered.js";

// `full`: the value at which a bar is full: the highest a component reaches under the default table.
const COMPONENTS = [
  {
    name: "keyword_score",
    full: 1,
    title: gettext("Keyword match"),
    about: gettext("How many of your message's keywords it contains. Rare words count more than common ones."),
  },
  {
    name: "semantic_score",
    full: 1,
    title: gettext("Meaning match"),
    about: gettext("How similar it is in meaning, even without shared words. The better of the two matches counts."),
  },
  {
    name: "category_boost",
    full: 1.5,
    title: gettext("Category boost"),
    about: gettext("Preferences weigh 1.5, facts 1.2, habits 1."),
  },
  {
    name: "recency_score",
    full: 1,
    title: gettext("Recency"),
    about: gettext("1 for a memory that was just used; halved for every week without use."),
  },
  {
    name: "frequency_score",
    full: 1,
    title: gettext("Frequency"),
    about: gettext("How often it was used, compared with the most used candidate."),
  },
  {
    name: "confidence",
    full: 1,
    title: gettext("Confidence"),
    about: gettext("How certain it is. Your own statements count more than inferences."),
  },
  {
    name: "topic_boost",
    full: 1.3,
    title: gettext("Topic boost"),
    about: gettext("The weighted sum of the above is multiplied by this: 1.3 if it fits the current topic, otherwise 1."),
  },
];
const FULL_SCORE = 1.3 * (0.4 + 0.2 * 1.5 + 0.15 + 0.1 + 0.15);

// Of an atomic memory: the points that add up to its score. Few parts reach a full bar, and few scores.
const PARTS = [
  {
    name: "meaning",
    title: gettext("Meaning"),
    about: gettext("How close it is to your message in meaning, compared with your other memories."),
  },
  {
    name: "meaning_of_last_line",
    title: gettext("Last line"),
    about: gettext("How close it is in meaning to the last line of your message, compared with your other memories."),
  },
  {
    name: "words",
    title: gettext("Words"),
    about: gettext("How well its words match your message, compared with your other memories. Rare words count more."),
  },
  {
    name: "words_in_session",
    title: gettext("Session words"),
    about: gettext("How well the best-matching memories of its session match the words of your message."),
  },
  {
    name: "words_near",
    title: gettext("Nearby words"),
    about: gettext("How many words of your message occur in it or in the two memories before and after it."),
  },
  {
    name: "words_around",
    title: gettext("Context words"),
    about: gettext("How many words of your message occur in it or in the four memories before and after it."),
  },
  {
    name: "words_with_turn_before",
    title: gettext("Memory before"),
    about: gettext("How many words of your message occur in it or in the memory before it."),
  },
  {
    name: "length",
    title: gettext("Length"),
    about: gettext("Longer memories contain more information and get points; shorter ones lose some."),
  },
  {
    name: "question",
    title: gettext("Question"),
    about: gettext("It asks something. Questions rarely contain an answer, so they lose points."),
  },
  {
    name: "answer",
    title: gettext("Answer"),
    about: gettext("It follows a question that contains words of your message."),
  },
  {
    name: "speaker",
    title: gettext("Speaker"),
    about: gettext("Your message names the person who said it."),
  },
  {
    name: "time",
    title: gettext("Time"),
    about: gettext("It is from a time that your message mentions."),
  },
  {
    name: "earlier_meaning",
    title: gettext("Earlier meaning"),
    about: gettext("Your message is short, so the messages before it count too: how close it is to them in meaning."),
  },
  {
    name: "earlier_words",
    title: gettext("Earlier words"),
    about: gettext("Your message is short, so the messages before it count too: how well its words match theirs."),
  },
  {
    name: "said_before",
    title: gettext("Said before"),
    about: gettext("The messages before yours contain part of it already, so it loses points."),
  },
];
const FULL_PART = 5;
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
  return el(
    "details",
    { class: "memory-card", open },
    el(
      "summary",
      {},
      freeText("span", deleted ? gettext("(deleted)") : memory.text, "memory-text"),
      el("span", { class: "memory-score" }, score, el("b", {}, formatScore(memory.score))),
    ),
    components(memory),
    el(
      "div",
      { class: "memory-foot" },
      el("span", { class: "badge" }, label("kind", memory.kind)),
      deleted || isMessage ? null : forgetButton({ id: memory.id, kind: memory.kind, text: memory.text, onForgotten }),
      isMessage && !deleted ? messageLink(memory) : null,
    ),
  );
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
      { class: "component", "aria-description": component.about, "data-component": component.name, on },
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
    return PARTS.map((part) => ({ ...part, full: FULL_PART, value: memory.parts[part.name] ?? 0 })).filter(
      ({ value }) => Math.abs(value) >= LEAST_SHOWN,
    );
  }
  return COMPONENTS.filter(({ name }) => typeof memory[name] === "number").map((component) => ({
    ...component,
    value: memory[component.name],
  }));
}
