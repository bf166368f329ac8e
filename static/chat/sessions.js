// The list of sessions: grouped by day, loaded page by page, moved through with the arrow keys.

import { api } from "./api.js";
import { askTitle, confirm, showProblem } from "./dialogs.js";
import { button, el, icon, iconButton, smallButton } from "./dom.js";
import { exportSession } from "./export.js";
import { formatSessionGroup, gettext, interpolate } from "./i18n.js";
import { skeleton } from "./loading.js";

const PAGE = 40;

/** `actions`: {onOpen(id), onChanged(session), onDeleted(id)}. */
export class SessionList {
  sessions = [];
  #count = null; // of all on the server; null before the first page
  #active = null;
  #loading = false;
  #problem = null;

  constructor({ container, actions }) {
    this.container = container;
    this.actions = actions;
    this.menu = this.#buildMenu();
    this.sentinel = el("div", { class: "sentinel", "aria-hidden": "true" });
    new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && this.loadMore(), {
      root: container,
      rootMargin: "200px",
    }).observe(this.sentinel);
    container.addEventListener("keydown", (event) => this.#moveFocus(event));
  }

  async loadMore() {
    if (this.#loading || this.sessions.length === this.#count) return;
    this.#loading = true;
    this.#problem = null;
    this.#render();
    try {
      const page = await api.listSessions({ limit: PAGE, offset: this.sessions.length });
      const known = new Set(this.sessions.map((session) => session.id));
      this.sessions.push(...page.results.filter((session) => !known.has(session.id)));
      this.#count = page.results.length ? page.count : this.sessions.length;
    } catch (error) {
      this.#problem = error;
    }
    this.#loading = false;
    this.#render();
  }

  /** Read the list anew: sessions have come or gone without this page's doing. */
  async reload() {
    this.sessions = [];
    this.#count = null;
    await this.loadMore();
  }

  setActive(id) {
    this.#active = id;
    this.#render();
  }

  /** Take in a session that was created or changed; the newest activity comes first. */
  put(session) {
    const known = this.sessions.findIndex((other) => other.id === session.id);
    if (known >= 0) this.sessions.splice(known, 1);
    else if (this.#count !== null) this.#count += 1;
    const at = this.sessions.findIndex((other) => new Date(other.last_active_at) <= new Date(session.last_active_at));
    this.sessions.splice(at < 0 ? this.sessions.length : at, 0, session);
    this.#render();
  }

  remove(id) {
    const known = this.sessions.findIndex((session) => session.id === id);
    if (known < 0) return;
    this.sessions.splice(known, 1);
    this.#count -= 1;
    this.#render();
  }

  #render() {
    const focused = document.activeElement?.closest?.("[data-session]")?.dataset.session;
    const groups = [];
    for (const session of this.sessions) {
      const label = formatSessionGroup(new Date(session.last_active_at));
      if (groups.at(-1)?.label !== label) groups.push({ label, items: [] });
      groups.at(-1).items.push(this.#item(session));
    }
    const nodes = groups.map(({ label, items }) => el("section", {}, el("h2", {}, label), el("ul", {}, items)));
    if (this.#problem) nodes.push(this.#failure());
    else if (this.#count === null) nodes.push(skeleton([80, 65, 90, 55]));
    else if (!groups.length) nodes.push(el("p", { class: "nothing" }, gettext("Your conversations appear here.")));
    // While a page is on its way there is no sentinel: when it comes back into view, it asks for the next one.
    if (!this.#loading && !this.#problem && this.sessions.length !== this.#count) nodes.push(this.sentinel);
    this.container.replaceChildren(...nodes);
    if (focused) this.container.querySelector(`[data-session="${focused}"] a`)?.focus({ preventScroll: true });
  }

  #item(session) {
    const title = session.title || gettext("New conversation");
    const current = session.id === this.#active ? "page" : null;
    const open = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window: the link does it
      event.preventDefault();
      this.actions.onOpen(session.id);
    };
    return el(
      "li",
      { "data-session": session.id },
      el(
        "a",
        { href: `/s/${session.id}`, "aria-current": current, title, on: { click: open } },
        session.temporary ? icon("temporary") : null,
        el("bdi", {}, title),
      ),
      iconButton("more", interpolate(gettext("Rename or delete “%s”"), [title]), {
        "aria-haspopup": "menu",
        title: null,
        on: { click: (event) => this.#openMenu(session, event.currentTarget) },
      }),
    );
  }

  #failure() {
    return el(
      "div",
      { class: "list-failure", role: "alert" },
      el("p", {}, this.#problem.message),
      smallButton("retry", gettext("Try again"), () => this.loadMore()),
    );
  }

  #buildMenu() {
    const menu = el("div", { class: "menu", popover: "auto", role: "menu" });
    menu.addEventListener("keydown", (event) => moveAmong([...menu.querySelectorAll("button")], event));
    document.body.append(menu);
    return menu;
  }

  #openMenu(session, anchor) {
    const item = (name, label, action, kind = "") => {
      const choose = () => {
        this.menu.hidePopover();
        action();
      };
      return button({ class: `menu-item ${kind}`, role: "menuitem", on: { click: choose } }, icon(name), label);
    };
    this.menu.replaceChildren(
      item("pencil", gettext("Rename"), () => this.#rename(session)),
      item("download", gettext("Export"), () => exportSession(session)),
      item("trash", gettext("Delete"), () => this.#delete(session), "danger"),
    );
    this.menu.showPopover();
    const { left, bottom, top } = anchor.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.menu;
    this.menu.style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`;
    this.menu.style.top = `${bottom + offsetHeight + 8 > innerHeight ? top - offsetHeight - 4 : bottom + 4}px`;
    this.menu.querySelector("button").focus();
  }

  async #rename(session) {
    const title = await askTitle(session.title);
    if (title === null) return;
    try {
      const renamed = await api.renameSession(session.id, title);
      this.put(renamed);
      this.actions.onChanged(renamed);
    } catch (error) {
      showProblem(error);
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
      await api.deleteSession(session.id);
      this.remove(session.id);
      this.actions.onDeleted(session.id);
    } catch (error) {
      showProblem(error);
    }
  }

  #moveFocus(event) {
    if (event.target.closest("a")) moveAmong([...this.container.querySelectorAll("a")], event);
  }
}

/** Arrow keys, Home and End move the focus among `elements`. */
function moveAmong(elements, event) {
  const at = elements.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: elements.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  elements[Math.max(0, Math.min(to, elements.length - 1))]?.focus();
}
