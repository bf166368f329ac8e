// Toasts: what just happened, with a way back. The server sends them as the event "panel:toast" (apps/panel/pages.py).

const SECONDS = 12;

const shelf = document.getElementById("toasts");
const mould = document.getElementById("toast");

/**
 * Show a text; with `operations` (IDs with commas between them) a button that undoes them, `together` with all that was
 * done at once with each.
 */
export function showToast({ text, operations = "", together = false, error = false }) {
  const toast = mould.content.firstElementChild.cloneNode(true);
  toast.querySelector("[data-text]").textContent = text;
  toast.classList.toggle("toast--error", error);
  const wayBack = toast.querySelector("[data-way-back]");
  wayBack.hidden = !operations;
  wayBack.addEventListener("click", () => {
    toast.remove();
    undo(operations, together);
  });
  toast.querySelector("[data-close]").addEventListener("click", () => toast.remove());
  shelf.replaceChildren(toast);
  fade(toast);
}

/** Take a toast away after a while, but not from under somebody's hand. */
function fade(toast) {
  setTimeout(() => {
    if (toast.matches(":hover, :focus-within")) fade(toast);
    else toast.remove();
  }, SECONDS * 1000);
}

function undo(operations, together) {
  htmx.ajax("POST", shelf.dataset.undo, {
    source: document.body,
    swap: "none",
    values: together ? { operations, together } : { operations },
    headers: { "X-CSRFToken": shelf.dataset.csrf },
  });
}

document.body.addEventListener("panel:toast", (event) => showToast(event.detail));

document.body.addEventListener("htmx:responseError", (event) => {
  if (event.detail.xhr.status !== 422) showToast({ text: shelf.dataset.failed, error: true });
});
document.body.addEventListener("htmx:sendError", () => showToast({ text: shelf.dataset.failed, error: true }));
