// The two panels beside the conversation. On wide screens they stand in columns; on narrow ones they slide over it,
// hold the focus, and close with Esc or a tap beside them.

import { byId } from "./dom.js";

const NARROW = matchMedia("(max-width: 52rem)"); // the sidebar is a drawer
const COMPACT = matchMedia("(max-width: 75rem)"); // the details slide over (as a sheet where narrow)
const CLOSED = "details closed";

export class Panels {
  #returnTo = null;

  constructor() {
    this.sidebar = byId("sidebar");
    this.details = byId("details");
    this.main = byId("conversation");
    this.backdrop = byId("backdrop");
    byId("open-sidebar").addEventListener("click", () => this.openSidebar());
    byId("close-sidebar").addEventListener("click", () => this.closeSidebar());
    byId("toggle-details").addEventListener("click", () => this.toggleDetails());
    byId("close-details").addEventListener("click", () => this.closeDetails());
    this.backdrop.addEventListener("click", () => this.closeOverlays());
    document.addEventListener("keydown", (event) => {
      const others = document.querySelector("dialog[open], :popover-open"); // these close themselves
      if (event.key === "Escape" && !others) this.closeOverlays();
    });
    for (const query of [NARROW, COMPACT]) query.addEventListener("change", () => this.#settle());
    if (!COMPACT.matches && !wasClosed()) this.details.hidden = false;
    this.#settle();
  }

  get detailsOpen() {
    return !this.details.hidden;
  }

  openSidebar() {
    this.#returnTo = document.activeElement;
    this.sidebar.classList.add("open");
    this.#settle();
    byId("new-session").focus();
  }

  closeSidebar() {
    if (!this.sidebar.classList.contains("open")) return;
    this.sidebar.classList.remove("open");
    this.#settle();
    this.#restoreFocus();
  }

  openDetails() {
    this.details.hidden = false;
    remember(false);
    this.#settle();
    if (COMPACT.matches) {
      this.#returnTo = document.activeElement;
      byId("details-title").focus();
    }
  }

  closeDetails() {
    this.details.hidden = true;
    if (!COMPACT.matches) remember(true);
    this.#settle();
    this.#restoreFocus();
  }

  toggleDetails() {
    if (this.detailsOpen) this.closeDetails();
    else this.openDetails();
  }

  closeOverlays() {
    this.closeSidebar();
    if (COMPACT.matches && this.detailsOpen) this.closeDetails();
  }

  #restoreFocus() {
    if (this.#returnTo?.isConnected) this.#returnTo.focus();
    this.#returnTo = null;
  }

  /** Whatever lies under an overlay cannot be reached, by keyboard or screen reader either. */
  #settle() {
    if (!NARROW.matches) this.sidebar.classList.remove("open");
    const drawer = this.sidebar.classList.contains("open");
    const sheet = COMPACT.matches && this.detailsOpen;
    this.sidebar.inert = NARROW.matches ? !drawer : sheet;
    this.main.inert = drawer || sheet;
    this.details.inert = drawer;
    this.backdrop.hidden = !drawer && !sheet;
    byId("open-sidebar").setAttribute("aria-expanded", String(drawer));
    byId("toggle-details").setAttribute("aria-expanded", String(this.detailsOpen));
  }
}

function wasClosed() {
  try {
    return localStorage.getItem(CLOSED) !== null;
  } catch {
    return false; // storage is blocked: the panel opens every time
  }
}

function remember(closed) {
  try {
    if (closed) localStorage.setItem(CLOSED, "yes");
    else localStorage.removeItem(CLOSED);
  } catch {
    // As above.
  }
}
