// The page of one memory: keys, editors, and the toast that says what was done.

import { firstField, showFields } from "./editor.js";
import { showToast } from "./toasts.js";

const page = document.getElementById("detail");

// What was just done, with a way back. The address says it once: reloading does not say it again.
const done = page.querySelector("[data-toast]");
if (done) {
  showToast({ text: done.dataset.toast, operations: done.dataset.operations });
  history.replaceState(null, "", location.pathname);
}
document.body.addEventListener("panel:reload", () => location.replace(location.pathname));

// Keys: each names the element that it presses.

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select");
  if (typing) {
    const form = event.target.closest("form[data-editor]");
    if (!form || event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    if (event.key === "Escape") close(form);
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const pressed = page.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!pressed) return;
  event.preventDefault();
  pressed.click();
});

function close(form) {
  const details = form.closest("details");
  if (!details) return;
  details.open = false;
  details.querySelector("summary").focus();
}

for (const details of page.querySelectorAll("details")) {
  details.addEventListener("toggle", () => {
    if (details.open) firstField(details)?.focus();
  });
}

showFields(page);

page.addEventListener("click", (event) => {
  const fill = event.target.closest("[data-fill]");
  if (!fill) return;
  const area = page.querySelector("#merge-text");
  area.value = fill.dataset.fill;
  area.focus();
});
