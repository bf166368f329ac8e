// The spaces in the sidebar: the one that is chosen has its conversations listed below, and new ones begin in it. A
// conversation that is dropped on one moves there.

import { showProblem, toast } from "./dialogs.js";
import { byId, el, icon, iconButton } from "./dom.js";
import { gettext, interpolate } from "./i18n.js";
import { moveAmong, openMenu } from "./menu.js";
import { pausedSign } from "./pausing.js";
import { SpaceDialog } from "./space_dialog.js";
import { findSpace, listSpaces, spaceChanges, spaceDot, updateSpace } from "./spaces.js";

/** What is dragged: the ID of a session. */
export const DRAGGED = "application/x-jiyi-session";

/** `actions`: {onChoose(id), null for all conversations; onMove(sessionId, id)}. `pages`: {memories(id), deletion(id)}, addresses. */
export class SpaceList {
  chosen = null;
  #archived = false;

  constructor({ actions, pages }) {
    this.actions = actions;
    this.pages = pages;
    this.dialog = new SpaceDialog();
    this.list = byId("spaces");
    this.list.addEventListener("keydown", (event) => {
      if (event.target.closest("a")) moveAmong([...this.list.querySelectorAll("a")], event);
    });
    byId("new-space").addEventListener("click", () => this.create());
    spaceChanges.addEventListener("change", () => this.#render());
    this.#takeDrops();
    this.#render();
  }

  /** Mark the space whose conversations are shown; null for all. */
  show(id) {
    this.chosen = id;
    this.#render();
  }

  /** List the archived ones in the place of the others, or these again. */
  showArchived(archived) {
    this.#archived = archived;
    this.#render();
  }

  async create() {
    const space = await this.dialog.open();
    if (space) this.actions.onChoose(space.id);
  }

  async #edit(id) {
    await this.dialog.open(findSpace(id));
    this.list.querySelector(`[data-space="${id}"] a`)?.focus(); // its elements are new
  }

  async setArchived(space, archived) {
    try {
      await updateSpace(space.id, { archived });
    } catch (error) {
      showProblem(error);
      return;
    }
    if (archived && this.chosen === space.id) this.actions.onChoose(null);
    const undo = { label: gettext("Undo"), run: () => updateSpace(space.id, { archived: !archived }).catch(showProblem) };
    toast(archived ? gettext("Space archived.") : gettext("Space moved back to the list."), { action: undo });
  }

  #takeDrops() {
    const mark = (item) => {
      for (const each of this.list.children) each.classList.toggle("over", each === item);
    };
    const itemOf = (event) => event.dataTransfer.types.includes(DRAGGED) && event.target.closest("[data-space]");
    this.list.addEventListener("dragover", (event) => {
      const item = itemOf(event);
      mark(item);
      if (item) event.preventDefault(); // it may be dropped here
    });
    this.list.addEventListener("dragleave", (event) => this.list.contains(event.relatedTarget) || mark(null));
    this.list.addEventListener("drop", (event) => {
      const item = itemOf(event);
      mark(null);
      if (!item) return;
      event.preventDefault();
      this.actions.onMove(event.dataTransfer.getData(DRAGGED), item.dataset.space);
    });
  }

  #render() {
    const focused = [...this.list.children].findIndex((item) => item.contains(document.activeElement));
    const shown = listSpaces().filter(({ id, archived }) => archived === this.#archived || id === this.chosen);
    const items = shown.map((space) => this.#item(space));
    this.list.replaceChildren(...(items.length ? [this.#all(), ...items] : []));
    this.list.children[focused]?.querySelector("a").focus();
  }

  #all() {
    return el("li", {}, this.#link(null, icon("chat"), gettext("All conversations")));
  }

  #item(space) {
    const { id, name } = space;
    const more = iconButton("more", interpolate(gettext("Options for “%s”"), [name]), {
      "aria-haspopup": "menu",
      title: null,
      on: { click: (event) => openMenu(event.currentTarget, this.#options(space)) },
    });
    return el("li", { "data-space": id }, this.#link(id, spaceDot(id), name, space.paused), more);
  }

  #link(id, sign, label, paused = false) {
    const choose = (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab or window: the link does it
      event.preventDefault();
      this.actions.onChoose(id);
    };
    const current = id === this.chosen ? "true" : null;
    const props = { href: id ? `/?space=${id}` : "/", title: label, "aria-current": current, on: { click: choose } };
    return el("a", props, sign, el("bdi", {}, label), paused ? pausedSign() : null);
  }

  #options(space) {
    const { id, archived, paused } = space;
    return [
      { sign: icon("pencil"), label: gettext("Edit"), run: () => this.#edit(id) },
      { sign: icon("memory"), label: gettext("Memories"), href: this.pages.memories(id) },
      {
        sign: icon(paused ? "resume" : "pause"),
        label: paused ? gettext("Resume remembering") : gettext("Pause remembering"),
        run: () => updateSpace(id, { paused: !paused }).catch(showProblem),
      },
      {
        sign: icon("archive"),
        label: archived ? gettext("Unarchive") : gettext("Archive"),
        run: () => this.setArchived(space, !archived),
      },
      { sign: icon("trash"), label: gettext("Delete…"), href: this.pages.deletion(id), kind: "danger" },
    ];
  }
}
