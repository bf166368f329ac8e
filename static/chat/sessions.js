// The list of sessions, of all or of one space: pinned ones first, then by day, loaded page by page, moved through with
// the arrow keys; and, in its place, that of archived ones.

import { confirm, showProblem, toast } from "./dialogs.js";
import { el, icon, iconButton, smallButton } from "./dom.js";
import { exportSession } from "./export.js";
import { formatSessionGroup, gettext, interpolate } from "./i18n.js";
import { skeleton } from "./loading.js";
import { moveAmong, openMenu } from "./menu.js";
import { pausedSign } from "./pausing.js";
import { changeSession, deleteSession, listSessions } from "./session_store.js";
import { titleField } from "./session_title.js";
import { DRAGGED } from "./space_list.js";
import { findSpace, listSpaces, namedDot, spaceChanges, spaceChoices } from "./spaces.js";

const PAGE = 40;
const ALL = 200;

/**
 * `actions`: {onOpen(id), onChanged(id), onDeleted(id), onArchived(shown), onListed()}, the last when the list shows
 * something else.
 */
export class SessionList {
  sessions = []; // of this view, newest activity first
  #archived = false;
  #space = null; // whose sessions these are; null for all
  #complete = false;
  #reached = null; // when the last session that was loaded was active; null before the first page
  #reading = null; // a page on its way
  #active = null;
  #problem = null;
  #editor = null; // {id, field} of the title that is being changed
  #shown = ""; // what the elements show

  constructor({ container, switcher, actions }) {
    this.container = container;
    this.switcher = switcher;
    this.actions = actions;
    this.sentinel = el("div", { class: "sentinel", "aria-hidden": "true" });
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.loadMore(), {
      root: container,
      rootMargin: "200px",
    }).observe(this.sentinel);
    container.addEventListener("keydown", (event) => {
      if (event.target.closest("a")) moveAmong([...container.querySelectorAll("a")], event);
    });
    container.addEventListener("dragstart", (event) => {
      const id = event.target.closest?.("[data-session]")?.dataset.session;
      const session = this.sessions.find((each) => each.id === id);
      if (session && !session.temporary) event.dataTransfer.setData(DRAGGED, id);
    });
    spaceChanges.addEventListener("change", () => this.#render());
    switcher.addEventListener("click", () => this.showArchived(!this.#archived));
  }

  async loadMore() {
    if (this.#reading || this.#complete) return;
    const reading = (this.#reading = {});
    this.#problem = null;
    this.#render();
    try {
      const pages = await this.#readPages();
      if (this.#reading !== reading) return; // the view has changed meanwhile
      this.#take(pages);
    } catch (error) {
      if (this.#reading !== reading) return;
      this.#problem = error;
    }
    this.#reading = null;
    this.#render();
  }

  /** Return the next page, and with the first one all that are pinned. */
  #readPages() {
    const place = this.#space ? { space: this.#space } : {};
    const narrowed = { ...place, archived: this.#archived, ...(this.#archived ? {} : { pinned: false }) };
    const next = listSessions({ ...narrowed, limit: PAGE, offset: this.#countLoaded() });
    const first = this.#reached === null && !this.#archived;
    return Promise.all([next, first ? listSessions({ ...place, archived: false, pinned: true, limit: ALL }) : null]);
  }

  #take([page, pinned]) {
    const known = new Set(this.sessions.map(({ id }) => id));
    const come = [...(pinned?.results ?? []), ...page.results].filter(
      (session) => !known.has(session.id) && this.#belongs(session),
    );
    this.sessions = [...this.sessions, ...come].sort((one, other) => timeOf(other) - timeOf(one));
    this.#reached = page.results.length ? timeOf(page.results.at(-1)) : (this.#reached ?? Infinity);
    this.#complete = !page.results.length || this.#countLoaded() >= page.count;
  }

  /** How many of the sessions came in pages: one that was put in before its page came is not among them. */
  #countLoaded() {
    if (this.#reached === null) return 0;
    return this.sessions.filter((session) => !this.#isPinned(session) && timeOf(session) >= this.#reached).length;
  }

  #belongs(session) {
    return session.archived === this.#archived && (this.#space === null || session.space === this.#space);
  }

  #isPinned(session) {
    return session.pinned && !this.#archived;
  }

  /** Read the list anew: sessions have come or gone without this page's doing. */
  async reload() {
    this.sessions = [];
    this.#complete = false;
    this.#reached = null;
    this.#reading = null;
    await this.loadMore();
  }

  /** Show the archived sessions in the place of the others, or these again. */
  async showArchived(archived) {
    this.#archived = archived;
    this.switcher.setAttribute("aria-pressed", String(archived));
    this.actions.onArchived(archived);
    this.container.scrollTop = 0;
    await this.reload();
  }

  /** Show the sessions of this space alone, or of all with null. */
  async showSpace(id) {
    if (id === this.#space) return;
    this.#space = id;
    this.container.scrollTop = 0;
    await this.reload();
  }

  setActive(id) {
    this.#active = id;
    for (const link of this.container.querySelectorAll("[data-session] a")) this.#markActive(link);
  }

  #markActive(link) {
    const active = link.closest("[data-session]").dataset.session === this.#active;
    if (active) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }

  /** Take in a session that was created or changed; the newest activity comes first. */
  put(session) {
    this.sessions = this.sessions.filter(({ id }) => id !== session.id);
    if (this.#belongs(session)) {
      const at = this.sessions.findIndex((other) => timeOf(other) <= timeOf(session));
      this.sessions.splice(at < 0 ? this.sessions.length : at, 0, session);
    }
    this.#render();
  }

  remove(id) {
    this.sessions = this.sessions.filter((session) => session.id !== id);
    this.#render();
  }

  /** Turn the title of a session into a field, wherever it is listed. */
  async rename(session) {
    if (this.#editor?.id === session.id) return; // the key was pressed again
    if (session.archived !== this.#archived) await this.showArchived(session.archived);
    if (!this.sessions.some(({ id }) => id === session.id)) this.put(session);
    const onDone = (title, { byKey }) => {
      this.#editor = null;
      this.#render();
      if (byKey) this.#linkOf(session.id)?.focus();
      if (title) this.#change(session, { title });
    };
    this.#editor = { id: session.id, field: titleField(session.title, { onDone }) };
    this.#render();
    this.#editor.field.scrollIntoView({ block: "nearest" });
    this.#editor.field.focus();
    this.#editor.field.select();
  }

  setPinned(session, pinned) {
    return this.#change(session, { pinned });
  }

  async setArchived(session, archived) {
    const neighbour = this.#neighbourOf(session.id);
    if (!(await this.#change(session, { archived }))) return;
    if (neighbour) this.#linkOf(neighbour)?.focus();
    const undo = { label: gettext("Undo"), run: () => this.#change(session, { archived: !archived }) };
    toast(archived ? gettext("Conversation archived.") : gettext("Conversation moved back to the list."), { action: undo });
  }

  /** Move a session to a space, or out of all with null, with what was learned in it. */
  async move(session, space) {
    const { space: before } = session;
    const neighbour = this.#neighbourOf(session.id);
    if (space === before || !(await this.#change(session, { space }))) return;
    if (neighbour && !this.#linkOf(session.id)) this.#linkOf(neighbour)?.focus();
    const undo = { label: gettext("Undo"), run: () => this.#change(session, { space: before }) };
    const text = space
      ? interpolate(gettext("Moved to “%s”, with what was learned in it."), [findSpace(space)?.name ?? ""])
      : gettext("Moved out of its space, with what was learned in it.");
    toast(text, { action: undo });
  }

  /** The session below this one, or above the last; null unless the focus is here, and would be lost. */
  #neighbourOf(id) {
    if (!this.#linkOf(id)?.closest("li").contains(document.activeElement)) return null;
    const ids = [...this.container.querySelectorAll("[data-session]")].map((item) => item.dataset.session);
    const at = ids.indexOf(id);
    return ids[at + 1] ?? ids[at - 1] ?? null;
  }

  async #change(session, changes) {
    try {
      const changed = await changeSession(session.id, changes);
      this.put(changed);
      this.actions.onChanged(session.id);
      return true;
    } catch (error) {
      showProblem(error);
      return false;
    }
  }

  async #delete(session) {
    const sure = await confirm({
      title: gettext("Delete this conversation?"),
      text: gettext("Its messages and working memory are permanently deleted. Memories learned from it are kept."),
      yes: gettext("Delete"),
    });
    if (!sure) return;
    try {
      await deleteSession(session.id);
      this.remove(session.id);
      this.actions.onDeleted(session.id);
    } catch (error) {
      showProblem(error);
    }
  }

  #linkOf(id) {
    return this.container.querySelector(`[data-session="${id}"] a`);
  }

  // Elements

  #render() {
    // A field that is moved loses the focus, and what an input method composes: the list waits until the title is given.
    if (this.#editor?.field.isConnected) return;
    const groups = this.#group();
    // Elements are kept while they show the same: a second click of a double one has to meet that of the first.
    const state = [this.#archived, this.#space, this.#editor?.id, this.#problem?.message, this.#reading !== null, this.#complete];
    const shown = JSON.stringify([state, this.#reached, groups, listSpaces()]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.actions.onListed();
    const focused = document.activeElement;
    const session = focused?.closest?.("[data-session]")?.dataset.session;
    const nodes = groups.map(({ label, sessions }) =>
      el("section", {}, el("h2", {}, label), el("ul", {}, sessions.map((each) => this.#item(each)))),
    );
    if (this.#problem) nodes.push(this.#failure());
    else if (this.#reached === null) nodes.push(skeleton([80, 65, 90, 55]));
    else if (!groups.length) nodes.push(el("p", { class: "nothing" }, this.#sayEmpty()));
    // While a page is on its way there is no sentinel: when it comes back into view, it asks for the next one.
    if (!this.#reading && !this.#problem && !this.#complete) nodes.push(this.sentinel);
    if (this.#archived) nodes.unshift(this.#archiveHead());
    this.container.replaceChildren(...nodes);
    if (session && this.container !== focused) this.#linkOf(session)?.focus({ preventScroll: true });
  }

  #group() {
    const groups = [];
    const add = (label, session) => {
      if (groups.at(-1)?.label !== label) groups.push({ label, sessions: [] });
      groups.at(-1).sessions.push(session);
    };
    for (const session of this.sessions) if (this.#isPinned(session)) add(gettext("Pinned"), session);
    for (const session of this.sessions) {
      if (!this.#isPinned(session)) add(formatSessionGroup(new Date(session.last_active_at)), session);
    }
    return groups;
  }

  #sayEmpty() {
    if (this.#archived) return gettext("No conversation is archived.");
    return this.#space ? gettext("No conversations in this space yet.") : gettext("Your conversations appear here.");
  }

  #item(session) {
    const title = session.title || gettext("New conversation");
    if (this.#editor?.id === session.id) return el("li", { "data-session": session.id }, this.#editor.field);
    const open = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window: the link does it
      event.preventDefault();
      this.actions.onOpen(session.id);
    };
    const link = el(
      "a",
      { href: `/s/${session.id}`, title, on: { click: open, dblclick: () => this.rename(session) } },
      this.#space === null && listSpaces().length ? namedDot(session.space) : null,
      session.temporary ? icon("temporary") : null,
      el("bdi", {}, title),
      session.paused ? pausedSign() : null,
    );
    const more = iconButton("more", interpolate(gettext("Options for “%s”"), [title]), {
      "aria-haspopup": "menu",
      title: null,
      on: { click: (event) => openMenu(event.currentTarget, this.#options(session, event.currentTarget)) },
    });
    const item = el("li", { "data-session": session.id }, link, more);
    this.#markActive(link);
    return item;
  }

  #options(session, anchor) {
    const { pinned, archived, temporary, paused } = session;
    const option = (name, label, run, kind = "") => ({ sign: icon(name), label, run, kind });
    const chooseSpace = () => openMenu(anchor, spaceChoices(session.space, (space) => this.move(session, space)));
    return [
      option("pencil", gettext("Rename"), () => this.rename(session)),
      // Archived sessions have no group of pinned ones.
      archived ? null : option("pin", pinned ? gettext("Unpin") : gettext("Pin"), () => this.setPinned(session, !pinned)),
      listSpaces().length && !temporary ? option("space", gettext("Move to…"), chooseSpace) : null,
      temporary
        ? null
        : option(
            paused ? "resume" : "pause",
            paused ? gettext("Resume remembering") : gettext("Pause remembering"),
            () => this.#change(session, { paused: !paused }),
          ),
      option("archive", archived ? gettext("Unarchive") : gettext("Archive"), () => this.setArchived(session, !archived)),
      option("download", gettext("Export"), () => exportSession(session)),
      option("trash", gettext("Delete"), () => this.#delete(session), "danger"),
    ];
  }

  #archiveHead() {
    const back = smallButton("close", gettext("Close"), () => {
      this.switcher.focus();
      this.showArchived(false);
    });
    return el("div", { class: "archived-head" }, el("span", {}, gettext("Archived conversations")), back);
  }

  #failure() {
    return el(
      "div",
      { class: "list-failure", role: "alert" },
      el("p", {}, this.#problem.message),
      smallButton("retry", gettext("Try again"), () => this.loadMore()),
    );
  }
}

function timeOf(session) {
  return new Date(session.last_active_at).getTime();
}
