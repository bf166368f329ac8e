// Questions that stop the page, and notes that do not.

import { byId, button, el, freeText, icon } from "./dom.js";

/** Ask; resolves to true for a yes only: Esc and a click outside mean no. `details`: nodes under the question, or null. */
export function confirm({ title, text, yes, danger = true, details = [] }) {
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-text").replaceChildren(el("p", {}, text), ...details.filter(Boolean));
  const yesButton = byId("confirm-yes");
  yesButton.textContent = yes;
  yesButton.className = `button ${danger ? "danger" : "primary"}`;
  return openDialog(dialog).then((answer) => answer === "yes");
}

/**
 * Open a modal dialog; resolves to its return value when it closes: the empty string for a cancel, which is Esc, a
 * click outside, or a button with data-close. (A submit button would not do: Enter in a field presses the first one.)
 */
export function openDialog(dialog) {
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    const closed = new AbortController();
    const { signal } = closed;
    dialog.addEventListener("mousedown", (event) => event.target === dialog && dialog.close(""), { signal });
    dialog.addEventListener("click", (event) => event.target.closest("[data-close]") && dialog.close(""), { signal });
    dialog.addEventListener(
      "close",
      () => {
        closed.abort();
        resolve(dialog.returnValue);
      },
      { signal },
    );
  });
}

/**
 * Show a note for a few seconds. `action`: {label, run}, what can be done about it; it stays for as long as somebody is
 * at its button.
 */
export function toast(text, { kind = "info", action = null } = {}) {
  const sign = icon(kind === "problem" ? "alert" : "check");
  const note = el("p", { class: `toast ${kind}` }, sign, freeText("span", text));
  if (action) {
    const act = () => {
      note.remove();
      action.run();
    };
    note.append(button({ class: "link", "data-action": "toast", on: { click: act } }, action.label));
  }
  byId("toasts").append(note);
  const close = () => (note.matches(":hover, :focus-within") ? setTimeout(close, 1000) : note.remove());
  setTimeout(close, action ? 10_000 : 6000);
}

/** Say what went wrong with something that was asked for. */
export function showProblem(error) {
  toast(error.message, { kind: "problem" });
}
