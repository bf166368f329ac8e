// The conversation in the middle: rows of a Conversation as elements, kept up with as they change.

import { sentFiles } from "./attachments.js";
import { changeNotes } from "./changes.js";
import { commandNotes } from "./commands.js";
import { button, definitions, el, freeText, icon, iconButton, smallButton } from "./dom.js";
import { formatClock, formatDay, formatMoment, gettext, interpolate, ngettext } from "./i18n.js";
import { label } from "./labels.js";
import { skeleton, thinking } from "./loading.js";
import { MarkdownView } from "./markdown.js";
import { pausedSign } from "./pausing.js";
import { readAloudButton, stopReading } from "./reading_aloud.js";
import { splitByWeight } from "./weight.js";

const NEAR_END = 80; // pixels from the end within which new text pulls the view along

/**
 * `actions`: {onDetails(row), onEdit(row), onSay(text), onProblem(error)}: what a click asks of the rest of the page.
 */
export class MessagesView {
  #conversation = null;
  #nodes = new Map();
  #listening = null;
  #frame = null;
  #grown = new Set();
  #selected = null;
  #editor = null;
  #wasBusy = false;

  constructor({ container, scroller, jump, actions, reviewUrl }) {
    this.container = container;
    this.scroller = scroller;
    this.jump = jump;
    this.actions = actions;
    this.reviewUrl = reviewUrl;
    this.onlyFavourites = false;
    this.sentinel = el("div", { class: "older", "aria-hidden": "true" });
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.#showOlder(), {
      root: scroller,
      rootMargin: "600px 0px 0px",
    }).observe(this.sentinel);
    scroller.addEventListener("scroll", () => this.#updateJump(), { passive: true });
    jump.addEventListener("click", () => this.scrollToEnd({ smooth: true }));
    new ResizeObserver(() => this.#updateJump()).observe(container);
  }

  show(conversation) {
    this.#listening?.abort();
    stopReading();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    this.#conversation = conversation;
    this.#nodes.clear();
    this.#grown.clear();
    this.#selected = null;
    this.#editor = null;
    this.container.replaceChildren();
    conversation.addEventListener("rows", () => this.#update(), { signal });
    conversation.addEventListener("state", () => this.#update(), { signal });
    this.#wasBusy = conversation.busy;
    conversation.addEventListener("state", () => this.#offerChanges(), { signal });
    conversation.addEventListener("row", ({ detail }) => this.#renderRow(detail), { signal });
    conversation.addEventListener("turn", ({ detail }) => this.#renderRow(detail), { signal });
    conversation.addEventListener("delta", ({ detail }) => this.#grow(detail), { signal });
    this.#update();
    this.scrollToEnd();
  }

  /** Mark the reply whose memory the panel shows. */
  select(row) {
    const before = this.#selected;
    this.#selected = row;
    for (const changed of [before, row]) if (changed) this.#renderRow(changed);
  }

  /** Bring a message into view that was looked for, and mark it; the focus goes there, too. */
  reveal(row) {
    for (const node of this.container.querySelectorAll("[data-found]")) delete node.dataset.found;
    const node = this.#nodes.get(row);
    node.dataset.found = "";
    node.tabIndex = -1;
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
    this.#updateJump();
  }

  setOnlyFavourites(only) {
    this.onlyFavourites = only;
    this.#update();
    this.scrollToEnd();
  }

  scrollToEnd({ smooth = false } = {}) {
    this.scroller.scrollTo({ top: this.scroller.scrollHeight, behavior: smooth ? "smooth" : "instant" });
    this.#updateJump();
  }

  get #atEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END;
  }

  #updateJump() {
    this.jump.hidden = this.#atEnd || !this.#conversation?.rows.length;
  }

  async #showOlder() {
    const conversation = this.#conversation;
    if (!conversation?.earlier) return;
    const fromEnd = this.scroller.scrollHeight - this.scroller.scrollTop;
    try {
      await conversation.loadOlder();
    } catch (error) {
      this.actions.onProblem(error);
      return;
    }
    if (conversation === this.#conversation) this.scroller.scrollTop = this.scroller.scrollHeight - fromEnd;
  }

  /** Bring the elements in line with the rows; a row keeps its element for life. */
  #update() {
    const conversation = this.#conversation;
    const follow = this.#atEnd;
    const rows = this.onlyFavourites ? conversation.rows.filter((row) => row.favourite) : conversation.rows;
    const wanted = [];
    if (conversation.earlier) wanted.push(this.sentinel);
    if (conversation.state === "loading" && !rows.length) wanted.push(skeleton([60, 90, 75, 40]));
    let day = null;
    const days = {};
    for (const row of rows) {
      const label = formatDay(row.createTime);
      // Imported messages may be of an earlier day than the replies between them: a day can be there several times.
      if (label !== day) wanted.push(this.#dayNode(label, (days[label] = (days[label] ?? 0) + 1)));
      day = label;
      wanted.push(this.#rowNode(row));
    }
    if (this.onlyFavourites && !rows.length && conversation.state === "ready") {
      const about = gettext("No favourites yet. Click the star below a message to add it.");
      wanted.push(el("p", { class: "nothing" }, about));
    }
    this.#place(wanted);
    if (follow) this.scrollToEnd();
    this.#updateJump();
  }

  #place(wanted) {
    const { children } = this.container;
    const kept = new Set(wanted);
    for (const child of [...children]) if (!kept.has(child)) child.remove();
    wanted.forEach((node, index) => {
      if (children[index] !== node) this.container.insertBefore(node, children[index] ?? null);
    });
  }

  #dayNode(label, time) {
    const key = `day ${label} ${time}`;
    if (!this.#nodes.has(key)) this.#nodes.set(key, el("p", { class: "day" }, el("span", {}, label)));
    return this.#nodes.get(key);
  }

  #rowNode(row) {
    if (!this.#nodes.has(row)) {
      const node = el("article", { class: `message ${row.role} ${row.id ? "" : "new"}` });
      this.#nodes.set(row, node);
      this.#renderRow(row);
    }
    return this.#nodes.get(row);
  }

  #renderRow(row) {
    const node = this.#nodes.get(row);
    if (!node) return;
    const follow = this.#atEnd;
    const streaming = row.status === "streaming";
    node.dataset.status = row.status;
    node.toggleAttribute("data-selected", row === this.#selected);
    node.setAttribute("aria-busy", String(streaming));
    const focused = node.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const speaker = el("span", { class: "visually-hidden" }, SPEAKERS[row.role]);
    node.replaceChildren(speaker, this.#bodyOf(row, node), ...this.#below(row));
    if (focused) node.querySelector(`[data-action="${focused}"]`)?.focus();
    if (follow) this.scrollToEnd();
  }

  #bodyOf(row, node) {
    if (row.role === "form") return formCard(row.form);
    if (row.role === "user") return this.#saidOf(row);
    if (row.role === "summary") {
      const title = el("summary", {}, gettext("Summary of earlier messages"));
      return el("details", { class: "summary" }, title, freeText("div", row.content));
    }
    if (row.status === "streaming" && !row.content) return thinking();
    // The body of a reply stays the same element while it grows, so that text someone selects in it stays selected.
    node.markdown ??= new MarkdownView(el("div", { class: "markdown free-text" }));
    node.markdown.update(row.content);
    return node.markdown.container;
  }

  #saidOf(row) {
    if (this.#editor?.row === row) return this.#editor.form;
    const text = freeText("div", row.content, "bubble");
    const files = sentFiles(row.files);
    return files ? el("div", { class: "said" }, files, text) : text;
  }

  #below(row) {
    if (row.status === "unsent" || row.status === "failed") return [this.#failure(row)];
    if (row.status === "pending" && !this.#hasReply(row)) return [thinking()];
    if (!row.id || row.role === "summary") return [];
    if (this.#editor?.row === row) return [];
    const learned = [
      secretNote(row), this.#commandNotes(row), this.#changeNotes(row), rememberedNote(row.turn), notRememberedNote(row),
    ];
    return [...learned, this.#stoppedNote(row), this.#toolbar(row)].filter(Boolean);
  }

  #stoppedNote(row) {
    if (!row.stopped) return null;
    const isNewest = this.#conversation.canRegenerate(row);
    const goOn = () => this.actions.onSay(gettext("Please continue."));
    return el(
      "p",
      { class: "stopped-note" },
      icon("stop"),
      el("span", {}, gettext("You stopped this reply.")),
      isNewest ? smallButton("down", gettext("Continue"), goOn, { action: "continue" }) : null,
    );
  }

  /** While a reply is on its way, nothing that was said can be changed. */
  #offerChanges() {
    if (this.#wasBusy === this.#conversation.busy) return;
    this.#wasBusy = this.#conversation.busy;
    const newest = this.#conversation.rows.findLast((row) => row.role === "assistant");
    if (newest) this.#renderRow(newest);
    for (const row of this.#conversation.rows) if (row.role === "user" && row.id) this.#renderRow(row);
  }

  /** Turn a message into a field, in place. */
  #edit(row) {
    const before = this.#editor?.row;
    const close = () => {
      this.#editor = null;
      this.#renderRow(row);
      this.#nodes.get(row)?.querySelector('[data-action="edit-message"]')?.focus();
    };
    const send = (content) => {
      this.#editor = null;
      if (content === row.content) return close();
      this.#conversation.edit(row, content).catch((error) => {
        this.actions.onProblem(error);
        this.#renderRow(row);
      });
    };
    this.#editor = { row, form: editForm(row.content, { send, close }) };
    if (before) this.#renderRow(before);
    this.#renderRow(row);
    const field = this.#editor.form.querySelector("textarea");
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }

  #commandNotes(row) {
    if (row.role !== "assistant") return null;
    const conversation = this.#conversation;
    const actions = {
      undo: (command) => conversation.undoCommand(row, command).catch(this.actions.onProblem),
      forget: (memory) => conversation.forgetCandidate(row, memory).catch(this.actions.onProblem),
    };
    return commandNotes(row.turn, { actions, reviewUrl: this.reviewUrl });
  }

  #changeNotes(row) {
    const undo = (change) => this.#conversation.undoChange(row, change).catch(this.actions.onProblem);
    return changeNotes(row.changes ?? [], { undo });
  }

  #hasReply(row) {
    const rows = this.#conversation.rows;
    return rows[rows.indexOf(row) + 1]?.role === "assistant";
  }

  #failure(row) {
    const unsent = row.status === "unsent";
    const title = unsent ? gettext("Not sent.") : gettext("No reply.");
    const reason = row.error ?? gettext("The model did not answer.");
    return el(
      "div",
      { class: "failure", role: "alert" },
      icon("alert"),
      el("p", { class: "free-text" }, el("strong", {}, title), " ", reason),
      smallButton("retry", gettext("Try again"), () => this.#conversation.retry(row), { action: "retry" }),
      unsent ? smallButton("pencil", gettext("Edit"), () => this.actions.onEdit(row), { action: "edit" }) : null,
    );
  }

  #toolbar(row) {
    const time = row.createTime;
    const star = iconButton("star", gettext("Favourite"), {
      "aria-pressed": String(row.favourite),
      "data-action": "favourite",
      on: { click: () => this.#conversation.setFavourite(row, !row.favourite).catch(this.actions.onProblem) },
    });
    star.classList.toggle("is-favourite", row.favourite);
    return el(
      "div",
      { class: "toolbar" },
      row.role === "assistant" && this.#conversation.hasTurn(row) ? this.#memoryChip(row) : null,
      row.edited ? this.#undoEditButton(row) : null,
      row.role === "user" && row.pausedBy ? pausedSign(gettext("Remembering was paused: nothing is learned from this message.")) : null,
      star,
      navigator.clipboard ? copyButton(row, this.actions) : null,
      row.role === "assistant" ? this.#readAloudButton(row) : null,
      this.#changeButton(row),
      el("time", { datetime: time.toISOString(), title: formatMoment(time) }, formatClock(time)),
    );
  }

  /** The words as they are shown, without the signs of Markdown. The button stays the same while its reply is read. */
  #readAloudButton(row) {
    const node = this.#nodes.get(row);
    node.readAloud ??= readAloudButton(() => node.markdown.container.innerText);
    return node.readAloud;
  }

  #changeButton(row) {
    const conversation = this.#conversation;
    if (conversation.canRegenerate(row)) {
      const again = () => conversation.regenerate(row).catch(this.actions.onProblem);
      return iconButton("retry", gettext("Regenerate"), { "data-action": "regenerate", on: { click: again } });
    }
    if (row.role !== "user" || conversation.busy) return null;
    return iconButton("pencil", gettext("Edit and resend"), {
      "data-action": "edit-message",
      on: { click: () => this.#edit(row) },
    });
  }

  #undoEditButton(row) {
    const undo = () => this.#conversation.undoEdit(row).catch(this.actions.onProblem);
    return smallButton("undo", gettext("Undo edit"), undo, { action: "undo-edit" });
  }

  #memoryChip(row) {
    const open = () => this.actions.onDetails(row);
    const selected = String(row === this.#selected);
    return button(
      { class: "memory-chip", "aria-pressed": selected, "data-action": "details", on: { click: open } },
      icon("memory"),
      describeMemory(row),
    );
  }

  #grow(row) {
    this.#grown.add(row);
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = null;
      const follow = this.#atEnd;
      for (const grown of this.#grown) this.#growNow(grown);
      this.#grown.clear();
      if (follow) this.scrollToEnd();
    });
  }

  #growNow(row) {
    const node = this.#nodes.get(row);
    if (!node || row.status !== "streaming") return;
    if (node.markdown?.container.isConnected) node.markdown.update(row.content);
    else this.#renderRow(row);
  }
}

const SPEAKERS = {
  user: gettext("You said:"),
  assistant: gettext("Jiyi said:"),
  summary: gettext("Summary:"),
  form: gettext("You submitted a form:"),
};

function describeMemory({ turn, figures }) {
  const used = turn?.memories_used ? splitByWeight(turn.memories_used)[0].length : (figures?.recalled ?? 0);
  const updates = turn?.memory_updates?.length ?? figures?.remembered ?? 0;
  const parts = [];
  if (used) parts.push(interpolate(ngettext("%s recalled", "%s recalled", used), [used]));
  if (updates) parts.push(interpolate(ngettext("%s remembered", "%s remembered", updates), [updates]));
  return parts.join(" · ") || gettext("Memory");
}

/** What the reply says it remembered, where its owner asked to be told (SPEC, L8). */
/** Say that what a message holds is not remembered, where it looks like a secret; null where it does not. */
function secretNote({ secrets }) {
  if (!secrets?.length) return null;
  return el("p", { class: "secret-note" }, icon("alert"), el("span", {}, secrets.map((kind) => label("secret", kind)).join(" ")));
}

function rememberedNote(turn) {
  const texts = turn?.metadata?.remembered ?? [];
  if (!texts.length) return null;
  const list = el("ul", {}, texts.map((text) => freeText("li", text)));
  return el("div", { class: "remembered-note" }, icon("memory"), el("span", {}, gettext("Remembered:")), list);
}

/** What of the message was left out of memory, as its owner excluded it (D4). */
function notRememberedNote({ notRemembered = [] }) {
  if (!notRemembered.length) return null;
  const say = (category) => interpolate(gettext("Not remembered: “%s” is excluded."), [label("sensitive", category)]);
  return el("p", { class: "not-remembered-note soft" }, icon("memory"), el("span", {}, notRemembered.map(say).join(" ")));
}

function copyButton(row, { onProblem }) {
  const copy = iconButton("copy", gettext("Copy"), {
    "data-action": "copy",
    on: {
      click: async () => {
        try {
          await navigator.clipboard.writeText(row.content);
        } catch (error) {
          onProblem(new Error(gettext("The browser does not allow copying."), { cause: error }));
          return;
        }
        // Where the row was drawn anew meanwhile, another button has the focus now.
        const shown = copy.isConnected ? copy : (document.activeElement?.closest('[data-action="copy"]') ?? copy);
        shown.replaceChildren(icon("check"));
        setTimeout(() => shown.replaceChildren(icon("copy")), 1500);
      },
    },
  });
  return copy;
}

function editForm(content, { send, close }) {
  const field = el("textarea", { class: "field-input", rows: 3, maxlength: 32000, "aria-label": gettext("Edit and resend") });
  field.value = content;
  const submit = (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (text) send(text);
  };
  const form = el(
    "form",
    { class: "edit-form", on: { submit } },
    field,
    el("p", { class: "soft" }, gettext("Everything from here on is replaced, and what was learned from it is taken back.")),
    el(
      "div",
      { class: "dialog-actions" },
      smallButton("close", gettext("Cancel"), close, { action: "cancel-edit" }),
      el("button", { type: "submit", class: "button small primary", "data-action": "send-edit" }, gettext("Send")),
    ),
  );
  form.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey && event.target === field) {
      submit(event);
    }
  });
  return form;
}

function formCard({ title, fields }) {
  const head = el("p", { class: "form-card-title free-text" }, icon("form"), title);
  return el("div", { class: "bubble form-card" }, head, definitions("", Object.entries(fields)));
}
