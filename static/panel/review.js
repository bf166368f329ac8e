// The review queue by keyboard, and what is selected. What is decided, htmx sends; the queue comes back as a whole.

import { firstField, showFields } from "./editor.js";

const review = document.getElementById("review");
const help = document.getElementById("review-help");
let place = 0;

// Between its swap and its settling htmx does not know the new buttons yet: keys pressed then wait.
let settling = false;
const waiting = [];

const items = () => [...review.querySelectorAll("[data-item]")];
const current = () => items()[place];

/** Make the card at `index` the current one; `focus` also moves the keyboard there. */
function goTo(index, { focus = true } = {}) {
  const all = items();
  if (!all.length) return review.querySelector("[data-empty]")?.focus();
  place = Math.max(0, Math.min(index, all.length - 1));
  all.forEach((item, at) => {
    item.tabIndex = at === place ? 0 : -1;
    item.toggleAttribute("aria-current", at === place);
  });
  const item = all[place];
  const look = item.querySelector("[data-look]");
  if (look) htmx.trigger(look, "look");
  if (focus) item.focus();
}

function press(key) {
  current()?.querySelector(`[data-key="${key}"]`)?.click();
}

function closeEditor(editor) {
  editor.replaceChildren();
  editor.closest("[data-item]").focus();
}

const KEYS = {
  j: () => goTo(place + 1),
  k: () => goTo(place - 1),
  a: () => press("a"),
  e: () => press("e"),
  r: () => press("r"),
  x: () => current()?.querySelector("input[type=checkbox]").click(),
  u: () => document.querySelector("#toasts [data-way-back]:not([hidden])")?.click(),
  "?": () => help.showModal(),
};

document.addEventListener("keydown", (event) => {
  const editor = event.target.closest?.("[data-editor]");
  if (editor && event.key === "Escape") return closeEditor(editor);
  if (editor && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    return editor.querySelector("form").requestSubmit();
  }
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (typing || help.open || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest?.("#review") || event.target === document.body) {
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    if (settling) waiting.push(act);
    else act();
  }
});

review.addEventListener("focusin", (event) => {
  const index = items().indexOf(event.target.closest("[data-item]"));
  if (index >= 0 && index !== place) goTo(index, { focus: false });
});

review.addEventListener("click", (event) => {
  if (event.target.closest("[data-open-help]")) help.showModal();
  const close = event.target.closest("[data-close-editor]");
  if (close) closeEditor(close.closest("[data-editor]"));
});

review.addEventListener("change", (event) => {
  if (event.target.matches("[data-select-all]")) {
    for (const box of boxes()) box.checked = event.target.checked;
  }
  if (event.target.matches("[data-select-all], [name=reference]")) countSelected();
});

const boxes = () => review.querySelectorAll("input[type=checkbox][name=reference]");

function countSelected() {
  const count = [...boxes()].filter((box) => box.checked).length;
  const actions = review.querySelector("[data-bulk-actions]");
  if (!actions) return;
  actions.hidden = count === 0;
  actions.querySelector("[data-selected-count]").textContent = count;
  const all = review.querySelector("[data-select-all]");
  all.checked = count > 0 && count === boxes().length;
  all.indeterminate = count > 0 && count < boxes().length;
}

let selected = new Set();
let wasInside = false;

document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target !== review) return;
  selected = new Set([...boxes()].filter((box) => box.checked).map((box) => box.value));
  wasInside = review.contains(document.activeElement) && !document.activeElement.closest(".review-filters");
});

document.addEventListener("htmx:afterSwap", (event) => {
  if (event.detail.target === review) settling = true;
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target.matches("[data-editor]")) {
    showFields(event.detail.target);
    firstField(event.detail.target)?.focus();
    return;
  }
  if (event.detail.target !== review) return;
  for (const box of boxes()) box.checked = selected.has(box.value);
  countSelected();
  goTo(place, { focus: wasInside || document.activeElement === document.body });
  settling = false;
  for (const act of waiting.splice(0)) act();
});

goTo(0, { focus: false });
