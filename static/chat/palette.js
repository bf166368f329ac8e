// One field for everything: what was said, and what can be done. The focus stays in it; arrow keys choose from the list.

import { openDialog } from "./dialogs.js";
import { byId, el, icon } from "./dom.js";
import { formatCount, formatDay, gettext, interpolate, ngettext } from "./i18n.js";
import { marked } from "./marked.js";
import { isSearchable, search } from "./search.js";
import { isPressed, keyCaps } from "./shortcuts.js";
import { spaceBadge } from "./spaces.js";

const WAIT = 120; // milliseconds after a key, in which the next one may come
const RECENT = 6;
const COMMANDS = 5; // beside what was found

const SPEAKERS = { user: gettext("You"), assistant: "Jiyi" };

/**
 * `getCommands()` returns what can be done now, `[{label, icon, run, shortcut?}]`; `getRecent()` the sessions of the
 * list; `onOpen(sessionId, messageId)` opens what was chosen, messageId null for a session as such.
 */
export class Palette {
  #options = [];
  #at = 0;
  #timer = null;
  #asked = 0;
  #found = []; // options of the last search
  #pending = false; // what was found is for an earlier query
  #hurried = false; // Enter was pressed meanwhile

  constructor({ getCommands, getRecent, onOpen }) {
    this.getCommands = getCommands;
    this.getRecent = getRecent;
    this.onOpen = onOpen;
    this.dialog = byId("palette");
    this.field = byId("palette-field");
    this.list = byId("palette-list");
    this.status = byId("palette-status");
    this.field.addEventListener("input", () => this.#changed());
    this.field.addEventListener("keydown", (event) => this.#onKey(event));
    this.list.addEventListener("click", (event) => this.#onClick(event));
    // As the pointer moves; not as the list moves below it.
    this.list.addEventListener("mousemove", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(this.#options.indexOf(option), { scroll: false });
    });
    this.list.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays in the field
  }

  open() {
    if (this.dialog.open) return;
    this.field.value = "";
    this.#changed();
    openDialog(this.dialog).then(() => {
      clearTimeout(this.#timer);
      this.#asked += 1;
    });
    this.field.focus();
  }

  /** Show the sessions of the list as they are now, if they are what is shown. What was chosen stays so. */
  showRecent() {
    if (this.dialog.open && !this.field.value.trim()) this.#showAll({ keep: true });
  }

  #changed() {
    clearTimeout(this.#timer);
    const query = this.field.value.trim();
    const asked = (this.#asked += 1);
    this.#hurried = false;
    this.#pending = isSearchable(query);
    if (!this.#pending) this.#found = [];
    if (!query) {
      this.#showAll();
      return;
    }
    this.#showFound(query); // what was found before stays until something else is, or the list would flicker
    if (this.#pending) this.#timer = setTimeout(() => this.#search(query, asked), WAIT);
  }

  /** Before anything is looked for: the newest sessions, and all commands. */
  #showAll({ keep = false } = {}) {
    const recent = this.getRecent().slice(0, RECENT).map((session) => sessionOption({ session, title_ranges: [] }));
    const groups = [
      [gettext("Recent conversations"), recent],
      [gettext("Commands"), this.getCommands().map(commandOption)],
    ];
    this.#show(groups, { keep });
  }

  async #search(query, asked) {
    this.list.setAttribute("aria-busy", "true");
    try {
      for await (const { found, complete } of search(query)) {
        if (asked !== this.#asked) return;
        this.#found = found.flatMap((each) => [sessionOption(each), ...each.messages.map((hit) => hitOption(each, hit))]);
        this.#pending = false;
        this.#showFound(query, {
          status: found.length || complete ? sayFound(found.length) : gettext("Searching…"),
          keep: complete,
        });
        if (this.#hurried && (found.length || complete)) this.#take(this.#options[this.#at]);
      }
    } catch (error) {
      if (asked !== this.#asked) return;
      this.#found = [];
      this.#showFound(query, { status: error.message });
    } finally {
      if (asked === this.#asked) this.list.removeAttribute("aria-busy");
    }
  }

  #showFound(query, shown) {
    this.#show([[gettext("Commands"), this.#findCommands(query)], [gettext("Conversations"), this.#found]], shown);
  }

  #findCommands(query) {
    const words = query.toLocaleLowerCase().split(/\s+/);
    const matches = this.getCommands().filter(({ label }) => {
      const text = label.toLocaleLowerCase();
      return words.every((word) => text.includes(word));
    });
    return matches.slice(0, COMMANDS).map(commandOption);
  }

  /** Show groups, `[[title, options]]`. `keep`: what was chosen stays so, if it is still there. */
  #show(groups, { status = "", keep = false } = {}) {
    const before = keep ? this.#options[this.#at]?.dataset.key : null;
    const shown = groups.filter(([, options]) => options.length);
    this.list.replaceChildren(
      ...shown.map(([title, options], number) => {
        const id = `palette-group-${number}`;
        const head = el("div", { class: "palette-group", id, role: "presentation" }, title);
        return el("div", { role: "group", "aria-labelledby": id }, head, options);
      }),
    );
    this.#options = shown.flatMap(([, options]) => options);
    this.#options.forEach((option, number) => (option.id = `palette-option-${number}`));
    this.list.hidden = !this.#options.length;
    this.field.setAttribute("aria-expanded", String(this.#options.length > 0));
    this.status.textContent = status;
    if (!keep) this.list.scrollTop = 0;
    const kept = before ? this.#options.findIndex((option) => option.dataset.key === before) : -1;
    this.#choose(Math.max(0, kept), { scroll: kept > 0 });
  }

  #choose(at, { scroll = true } = {}) {
    this.#options[this.#at]?.setAttribute("aria-selected", "false");
    this.#at = at;
    for (const option of this.#options) option.setAttribute("aria-selected", String(option === this.#options[at]));
    const chosen = this.#options[at];
    if (!chosen) {
      this.field.removeAttribute("aria-activedescendant");
      return;
    }
    this.field.setAttribute("aria-activedescendant", chosen.id);
    if (scroll) chosen.scrollIntoView({ block: "nearest" });
  }

  #onKey(event) {
    const count = this.#options.length;
    if (isPressed(event, "next")) this.#choose((this.#at + 1) % Math.max(1, count));
    else if (isPressed(event, "previous")) this.#choose((this.#at - 1 + count) % Math.max(1, count));
    else if (event.key === "Enter" && !event.isComposing && event.keyCode !== 229) this.#take(this.#options[this.#at], event);
    else return;
    event.preventDefault();
  }

  #onClick(event) {
    const option = event.target.closest("[role=option]");
    if (!option) return;
    if (option.href && (event.metaKey || event.ctrlKey || event.shiftKey)) return; // a new tab or window: the link does it
    event.preventDefault();
    this.#take(option, event);
  }

  #take(option, event = null) {
    if (this.#pending && (!option || this.#found.includes(option))) {
      this.#hurried = true;
      return;
    }
    if (!option) return;
    if (option.href && (event?.metaKey || event?.ctrlKey)) {
      open(option.href, "_blank", "noopener");
      return;
    }
    this.dialog.close("");
    const { session, message = null } = option.dataset;
    if (session) this.onOpen(session, message);
    else option.run();
  }
}

function commandOption({ label, icon: name, run, shortcut }) {
  const caps = shortcut ? el("kbd", {}, keyCaps(shortcut)[0].join(" ")) : null;
  const option = el("div", { ...optionProps(label), class: "palette-option" }, icon(name), el("span", {}, label), caps);
  option.run = run;
  return option;
}

function sessionOption({ session, title_ranges: ranges }) {
  const title = session.title ? marked(session.title, ranges) : [gettext("New conversation")];
  return el(
    "a",
    { ...optionProps(session.id), class: "palette-option", href: `/s/${session.id}`, "data-session": session.id },
    icon(session.temporary ? "temporary" : "chat"),
    el("bdi", {}, title),
    spaceBadge(session.space),
    session.archived ? el("span", { class: "badge" }, gettext("Archived")) : null,
    el("time", { datetime: session.last_active_at }, formatDay(new Date(session.last_active_at))),
  );
}

function hitOption({ session }, hit) {
  return el(
    "a",
    {
      ...optionProps(hit.id),
      class: "palette-option hit",
      href: `/s/${session.id}#${hit.id}`,
      "data-session": session.id,
      "data-message": hit.id,
    },
    el("span", { class: "speaker" }, SPEAKERS[hit.role]),
    el("span", { class: "excerpt", dir: "auto" }, marked(hit.excerpt, hit.ranges)),
    hit.found_by === "meaning" ? el("span", { class: "badge" }, gettext("Similar")) : null,
    el("time", { datetime: hit.create_time }, formatDay(new Date(hit.create_time))),
  );
}

function optionProps(key) {
  return { role: "option", tabindex: "-1", "aria-selected": "false", "data-key": key };
}

function sayFound(count) {
  if (!count) return gettext("Nothing found.");
  return interpolate(ngettext("%s conversation found", "%s conversations found", count), [formatCount(count)]);
}
