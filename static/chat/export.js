// A conversation as a file to keep: which form of it is asked for in a dialog, and the browser downloads it.

import { openDialog } from "./dialogs.js";
import { button, el } from "./dom.js";
import { gettext } from "./i18n.js";

const FORMATS = [
  { name: "markdown", label: "Markdown", about: () => gettext("To read: what was said, by whom and when.") },
  { name: "json", label: "JSON", about: () => gettext("Everything that is stored. Can be imported again.") },
];

/** Ask in which form to export a session, and download it; resolves when the dialog is closed. */
export async function exportSession(session) {
  const link = ({ name, label, about }) =>
    el(
      "a",
      {
        class: "export-choice",
        href: `/chat/sessions/${session.id}/export?format=${name}`,
        download: "",
        on: { click: () => setTimeout(() => dialog.close("")) }, // once the browser has followed the link
      },
      el("b", {}, label),
      el("span", {}, about()),
    );
  const close = button({ class: "button", "data-close": "" }, gettext("Cancel"));
  const dialog = el(
    "dialog",
    { class: "dialog", "aria-labelledby": "export-title" },
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "export-title" }, gettext("Export conversation")),
      FORMATS.map(link),
      el("div", { class: "dialog-actions" }, close),
    ),
  );
  document.body.append(dialog);
  await openDialog(dialog);
  dialog.remove();
}
