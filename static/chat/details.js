// The panel beside a reply: what was recalled and why, what was remembered, how the reply was tuned, what is in mind.

import { contextSection } from "./context.js";
import { definitions, el, freeText, icon, smallButton } from "./dom.js";
import { formatCount, formatShare, gettext, interpolate, ngettext } from "./i18n.js";
import { DELETED, formatValue, label } from "./labels.js";
import { skeleton } from "./loading.js";
import { bar, recalledCard } from "./recalled.js";
import { rememberedItem } from "./remembered.js";
import { splitByWeight } from "./weight.js";

const FORM_PREFIX = "hitl_";
const REPLY_ID = "00000000-0000-0000-0000-000000000000";

/**
 * `getDraft()` returns the current draft; the context section shows the prompt for it.
 * `inspectorUrl`: the panel's page of a turn, with REPLY_ID in place of the reply's.
 */
export class DetailsPanel {
  #shown = null;

  constructor({ body, getDraft, inspectorUrl }) {
    this.body = body;
    this.getDraft = getDraft;
    this.inspectorUrl = inspectorUrl;
  }

  /** Show the turn of a stored reply, or, without one, what will be here. */
  async show(conversation, row) {
    const shown = (this.#shown = { conversation, row });
    if (!row) {
      const about = gettext("After a reply, you see here what was recalled, why, and what was remembered.");
      this.body.replaceChildren(el("p", { class: "nothing" }, about));
      return;
    }
    if (row.turn === undefined) this.body.replaceChildren(skeleton([50, 90, 80, 60]), skeleton([40, 85, 70]));
    try {
      const turn = await conversation.loadTurn(row);
      if (this.#shown === shown) this.body.replaceChildren(...this.#sections(conversation, row, turn));
    } catch (error) {
      if (this.#shown === shown) this.body.replaceChildren(this.#failure(error));
    }
  }

  #failure(error) {
    const { conversation, row } = this.#shown;
    return el(
      "div",
      { class: "list-failure", role: "alert" },
      el("p", {}, error.message),
      smallButton("retry", gettext("Try again"), () => this.show(conversation, row)),
    );
  }

  #sections(conversation, row, turn) {
    if (!turn) return [el("p", { class: "nothing" }, gettext("No details are available for this reply."))];
    const getMessage = () => this.getDraft() || lastSaid(conversation);
    return [
      this.#recalled(conversation, row, turn),
      searched(turn),
      remembered(turn),
      emotion(turn.emotion),
      strategy(turn.strategy),
      workingMemory(turn.working_memory),
      contextSection({ conversation, getMessage }),
      this.#inspectorLink(row),
    ].filter(Boolean);
  }

  #inspectorLink(row) {
    const href = this.inspectorUrl.replace(REPLY_ID, row.id);
    return el("p", {}, el("a", { class: "inspector-link", href }, gettext("See the full details of this turn")));
  }

  #recalled(conversation, row, turn) {
    const [weighty, others] = splitByWeight(turn.memories_used);
    const forgotten = (memory) => () => {
      memory.text = DELETED;
      this.show(conversation, row);
    };
    const show = (memory, index) => recalledCard(memory, { open: index === 0, onForgotten: forgotten(memory) });
    const cards = weighty.map(show);
    if (!cards.length) cards.push(nothing(gettext("No memories were recalled for this reply.")));
    if (others.length) cards.push(alsoInPrompt(others.map((memory) => show(memory))));
    return section("recalled", gettext("Recalled"), cards);
  }
}

/** What stood in the prompt and carried little weight, folded. */
function alsoInPrompt(cards) {
  const text = ngettext("%s more that was in the prompt", "%s more that were in the prompt", cards.length);
  return el("details", { class: "also-in-prompt" }, el("summary", {}, interpolate(text, [formatCount(cards.length)])), cards);
}

/** What the model looked up on its own before it replied (SPEC, T1). */
function searched({ tool_calls: calls = [] }) {
  const searches = calls.filter((call) => call.name === "search_memories" && call.outcome === "ok");
  if (!searches.length) return null;
  const items = searches.map(({ keyword, memories }) => {
    const found = ngettext("%s found", "%s found", memories.length);
    const about = keyword ? freeText("span", keyword) : el("span", {}, gettext("(search terms not kept)"));
    const texts = memories.map(({ text }) => freeText("li", text === DELETED ? gettext("(deleted)") : text));
    return el(
      "details",
      { class: "memory-card" },
      el("summary", {}, about, el("span", { class: "soft" }, interpolate(found, [formatCount(memories.length)]))),
      texts.length ? el("ul", { class: "found" }, texts) : null,
    );
  });
  return section("searched", gettext("Searched memory"), items);
}

function lastSaid(conversation) {
  return conversation.rows.findLast((row) => row.role === "user")?.content ?? "";
}

/** Return a section of the panel under a heading. */
function section(name, title, children) {
  return el("section", { class: "detail", "data-section": name }, el("h3", {}, title), children);
}

function nothing(text) {
  return el("p", { class: "soft" }, text);
}

function remembered({ memory_updates: updates }) {
  const title = gettext("Remembered");
  if (!updates.length) return section("remembered", title, nothing(gettext("Nothing new was remembered.")));
  return section("remembered", title, el("ul", { class: "updates" }, updates.map(rememberedItem)));
}

function emotion(found) {
  if (!found) return null;
  const confidence = gettext("Confidence");
  return section("emotion", gettext("Detected emotion"), [
    el(
      "p",
      { class: `emotion ${found.category}` },
      el("strong", {}, label("emotion", found.primary)),
      bar({ value: found.confidence, full: 1, title: confidence }),
      el("span", {}, formatShare(found.confidence)),
    ),
    el("ul", { class: "tags" }, found.indicators.map((word) => freeText("li", word))),
  ]);
}

function strategy(used) {
  if (!used) return null;
  const yesNo = (value) => (value ? gettext("yes") : gettext("no"));
  const reason = interpolate(gettext("Based on the emotion of your previous message: %s."), [label("emotion", used.emotion)]);
  return section("strategy", gettext("Reply strategy"), [
    el("p", { class: "soft" }, reason),
    definitions("facts", [
      [gettext("Tone"), label("tone", used.tone)],
      [gettext("Length"), interpolate(gettext("about %s characters"), [formatCount(used.max_length)])],
      [gettext("Uses memory"), yesNo(used.use_memory)],
      [gettext("Asks follow-up questions"), yesNo(used.proactive_question)],
      [gettext("Formality"), label("formality", used.formality)],
      [gettext("Emoji"), yesNo(used.emoji_allowed)],
    ]),
  ]);
}

function workingMemory(memory) {
  if (!memory) return null;
  const entries = Object.entries(memory.context_variables ?? {});
  const forms = entries.filter(([key]) => key.startsWith(FORM_PREFIX));
  const variables = entries.filter(([key]) => !key.startsWith(FORM_PREFIX));
  return section("working-memory", gettext("Current context"), [
    definitions("facts", [
      [gettext("Topic"), memory.current_topic ?? "–"],
      [gettext("Messages"), formatCount(memory.turn_count)],
      ...variables.map(([name, value]) => [name, formatValue(value)]),
    ]),
    ...forms.map(([key, form]) => keptForm(key.slice(FORM_PREFIX.length), form)),
  ]);
}

function keptForm(title, { fields }) {
  const values = Object.entries(fields).map(([name, value]) => [name, formatValue(value)]);
  const head = el("p", { class: "free-text" }, icon("form"), title);
  return el("div", { class: "kept-form" }, head, definitions("facts", values));
}
