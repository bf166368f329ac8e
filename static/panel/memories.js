// The lists of memories: layout, selection, editors, dialogs, and what is new while one looks.

import { firstField, showFields } from "./editor.js";
import { watchNews } from "./memories_news.js";

const LOOK_SECONDS = 365 * 24 * 3600;

const root = document.getElementById("memories");
const dialog = document.getElementById("memory-dialog");
const find = (selector) => root.querySelector(selector);
const findAll = (selector) => [...root.querySelectorAll(selector)];

function reload() {
  htmx.ajax("GET", location.href, { target: "#memory-page", swap: "innerHTML" });
}

// Cards or table

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-look-button]");
  if (!button) return;
  root.dataset.look = button.dataset.lookButton;
  document.cookie = `panel_look=${root.dataset.look}; path=/; max-age=${LOOK_SECONDS}; samesite=lax`;
  for (const other of findAll("[data-look-button]")) other.setAttribute("aria-pressed", String(other === button));
});

// Selection: single rows, this page, or all that match

const ticks = () => findAll('input[name="selected"]');

function showSelection() {
  const form = find("#memory-selection");
  const bar = find("#memory-bulk");
  if (!form || !bar) return;
  const all = form.elements.all.value === "1";
  const count = ticks().filter((tick) => tick.checked).length;
  bar.hidden = !all && count === 0;
  const text = all ? root.dataset.selectedAll : root.dataset.selected;
  bar.querySelector("[data-count]").textContent = text.replace("{count}", all ? form.dataset.totalText : count);
  const whole = find("[data-select-page]");
  whole.checked = count > 0 && count === ticks().length;
  whole.indeterminate = count > 0 && !whole.checked;
  const selectAll = bar.querySelector("[data-select-all]");
  if (selectAll) selectAll.hidden = all;
}

function selectRows(checked, { all = false } = {}) {
  for (const tick of ticks()) tick.checked = checked;
  find("#memory-selection").elements.all.value = all ? "1" : "";
  showSelection();
}

root.addEventListener("change", (event) => {
  if (event.target.matches("[data-select-page]")) selectRows(event.target.checked);
  else if (event.target.matches('input[name="selected"]')) {
    find("#memory-selection").elements.all.value = "";
    showSelection();
  }
});

root.addEventListener("click", (event) => {
  if (event.target.closest("[data-select-all]")) selectRows(true, { all: true });
  if (event.target.closest("[data-select-none]")) selectRows(false);
});

/** A file comes by the browser itself, which htmx would show as a page. */
function exportSelected() {
  const form = find("#memory-selection");
  const action = Object.assign(document.createElement("input"), { type: "hidden", name: "action", value: "export" });
  form.append(action);
  form.submit();
  action.remove();
}

root.addEventListener("click", (event) => {
  if (event.target.closest("[data-export]")) exportSelected();
});

// Editors

const isEditing = () => find("[data-editor]") !== null;

root.addEventListener("input", (event) => {
  if (event.target.matches("[data-must-be]")) armByName(event.target);
});

const opened = new WeakSet();

function openEditor(editor) {
  showFields(editor);
  // An editor is focused once, and not where one is typing already: what settles later must not move the cursor.
  if (opened.has(editor)) return;
  opened.add(editor);
  if (editor.contains(document.activeElement)) return;
  firstField(editor)?.focus();
}

root.addEventListener("keydown", (event) => {
  const editor = event.target.closest("[data-editor]");
  if (!editor || event.isComposing) return;
  if (event.key === "Escape") {
    event.preventDefault();
    editor.querySelector("[data-cancel]").click();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    editor.querySelector("form").requestSubmit();
  }
});

root.addEventListener("click", (event) => {
  const cancel = event.target.closest("[data-cancel]");
  if (cancel && !cancel.hasAttribute("hx-get")) {
    cancel.closest("[data-editor]").remove();
    const add = document.getElementById("memory-add");
    (add?.querySelector("summary") ?? add ?? document.body).focus();
  }
});

// Which kind to add

const addMenu = find(".add-menu");
if (addMenu) {
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".add-menu > summary")) addMenu.open = false;
  });
  addMenu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !addMenu.open) return;
    addMenu.open = false;
    addMenu.querySelector("summary").focus();
  });
}

// "/" searches, unless one is typing

document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable], dialog[open]")) return;
  const search = document.getElementById("memory-q");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

// Dialogs

function armByName(field) {
  field.form.querySelector("[data-armed-by-name]").disabled = field.value.trim() !== field.dataset.mustBe;
}

dialog.addEventListener("click", (event) => {
  if (event.target.closest("[data-close-dialog]")) dialog.close();
});
dialog.addEventListener("close", () => dialog.replaceChildren());

// What htmx brings

document.body.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (new URL(xhr.responseURL || location.href).pathname.endsWith("/login/")) {
    event.detail.shouldSwap = false;
    location.reload(); // logged out meanwhile
  } else if (xhr.status === 422) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.body.addEventListener("htmx:afterSettle", (event) => {
  const { target } = event.detail;
  if (target === dialog) {
    if (!dialog.firstElementChild) return;
    if (!dialog.open) dialog.showModal();
    dialog.querySelectorAll("[data-must-be]").forEach(armByName);
    return;
  }
  const editor = event.target.closest?.("[data-editor]") ?? event.target.querySelector?.("[data-editor]");
  if (editor) openEditor(editor);
  else if (leftEditor && document.activeElement === document.body) (document.getElementById(leftEditor) ?? find(".memory--fresh"))?.querySelector("[data-edit]")?.focus();
  leftEditor = "";
  showSelection();
});

let leftEditor = "";
document.body.addEventListener("htmx:beforeSwap", (event) => {
  const editor = event.detail.target.closest?.("[data-editor]");
  if (editor) leftEditor = editor.id;
});

document.body.addEventListener("panel:reload", reload);
document.body.addEventListener("panel:close", () => dialog.close());

const standing = find("[data-editor]");
if (standing) openEditor(standing);
showSelection();
watchNews(root, {
  isBusy: () => isEditing() || dialog.open || ticks().some((tick) => tick.checked),
  isEditing,
  reload,
});
