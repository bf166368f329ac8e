// What stands around every page of the panel: the parts of unfold's templates that were inline scripts or expressions
// which Alpine's build for a strict Content-Security-Policy cannot read, as they use globals or several statements.

const SIDEBAR = "sidebarDesktopOpen";

document.addEventListener("alpine:init", () => {
  // Expressions see no globals: unfold's components are made known by name.
  Object.entries({ theme, searchDropdown, searchCommand, searchForm }).forEach(([name, make]) => Alpine.data(name, make));

  Alpine.data("panelFrame", (firstTab = "") => ({
    activeTab: firstTab,
    sidebarMobileOpen: false,
    sidebarDesktopOpen: localStorage.getItem(SIDEBAR) !== "0",

    // All that expressions of unfold's change form and paginator use of the window.
    window: {
      location: {
        get pathname() {
          return location.pathname;
        },
        get search() {
          return location.search;
        },
        get hash() {
          return location.hash;
        },
        set href(address) {
          location.href = address;
        },
      },
    },

    init() {
      this.activeTab = getCurrentTab() || firstTab;
      this.$watch(SIDEBAR, (open) => localStorage.setItem(SIDEBAR, open ? "1" : "0"));
    },
  }));
});

// What asks the server again and again pauses while nobody looks.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.detail.elt.matches("[hx-trigger^='every ']")) event.preventDefault();
});
