// Files for the next message: chosen, pasted or dropped, uploaded at once, shown above the text until they are sent.

import { ApiError, NetworkError, api } from "./api.js";
import { button, byId, el, icon } from "./dom.js";
import { gettext, interpolate } from "./i18n.js";

const IMPORTS = /\.(zip|json|jsonl|gz|af)$/i;

// Why a file has no text for the model, by `fields.reason` or the error's code.
const REASONS = {
  not_text: gettext("Only text and PDF files can be attached."),
  no_text: gettext("This file has no text. Scanned pages are pictures."),
  password: gettext("This PDF is protected by a password."),
  damaged: gettext("This PDF is damaged or too complex."),
  slow: gettext("Reading this PDF takes too long."),
  pages: gettext("This PDF has too many pages."),
  too_large: gettext("This file is too large."),
  conflict: gettext("This conversation has too many files."),
};

/** Whether a dropped file is the export of another application, and not something to talk about. */
export function looksLikeExport(file) {
  return IMPORTS.test(file.name);
}

/** `getSession()`: a promise of the session's id, which is made where there is none. `onChange()`: files came or went. */
export class AttachmentTray {
  #uploads = Promise.resolve(); // one after the other: their order is the order in which they were chosen
  #files = []; // {key, name, id, characters, error}; without id and error it is being uploaded

  constructor({ getSession, onChange }) {
    this.getSession = getSession;
    this.onChange = onChange;
    this.container = byId("attachments");
    this.input = byId("attachment-file");
    this.choose = byId("attach");
    this.choose.addEventListener("click", () => this.input.click());
    this.input.addEventListener("change", () => {
      this.add(this.input.files);
      this.input.value = "";
    });
    byId("draft").addEventListener("paste", (event) => {
      if (!event.clipboardData?.files.length) return;
      event.preventDefault();
      this.add(event.clipboardData.files);
    });
  }

  /** Whether one is still on its way. */
  get busy() {
    return this.#files.some((file) => !file.id && !file.error);
  }

  add(files) {
    const session = this.getSession(); // of now: another one may be open once it is a file's turn
    session.catch(() => {}); // each upload tells of it
    for (const content of files) {
      const file = { name: content.name };
      this.#files.push(file);
      this.#uploads = this.#uploads.then(() => this.#upload(file, content, session));
    }
    this.#render();
  }

  /** Show what waits in another session, `[{id, name, characters}]`. */
  show(waiting) {
    this.#files = [...waiting];
    this.#render();
  }

  /** Return what is ready, to be sent now; the tray is empty then. */
  take() {
    const ready = this.#files.filter((file) => file.id);
    this.show([]);
    return ready;
  }

  async #upload(file, content, session) {
    if (file.removed) return;
    try {
      Object.assign(file, await api.attachFile(await session, content));
    } catch (error) {
      file.error = REASONS[error.fields?.reason] ?? REASONS[error.code] ?? error.message;
      if (!(error instanceof ApiError || error instanceof NetworkError)) console.error(error);
    }
    if (this.#files.includes(file)) this.#render();
    if (file.removed && file.id) await discard(file);
  }

  async #remove(file) {
    const at = this.#files.indexOf(file);
    this.#files = this.#files.filter((other) => other !== file);
    file.removed = true;
    this.#render();
    const chips = this.container.querySelectorAll("button");
    (chips[Math.min(at, chips.length - 1)] ?? this.choose).focus();
    if (file.id) await discard(file);
  }

  #render() {
    this.container.hidden = !this.#files.length;
    this.container.replaceChildren(...this.#files.map((file) => this.#chip(file)));
    this.onChange();
  }

  #chip(file) {
    const state = file.error ?? (file.id ? null : gettext("Uploading…"));
    return el(
      "li",
      { class: `attachment ${file.error ? "failed" : ""}`, "aria-busy": String(!file.id && !file.error) },
      icon("file"),
      el("span", { class: "attachment-name free-text", dir: "auto" }, file.name),
      state ? el("span", { class: "attachment-state", role: file.error ? "alert" : "status" }, state) : null,
      button(
        {
          class: "icon-button",
          "aria-label": interpolate(gettext("Remove %s"), [file.name]),
          on: { click: () => this.#remove(file) },
        },
        icon("close"),
      ),
    );
  }
}

/** The text stays with the session until it is deleted; one that could not be is not sent all the same. */
function discard(file) {
  return api.deleteAttachment(file.id).catch((error) => console.info(error.message));
}

/** The files that were sent with a message. */
export function sentFiles(files) {
  if (!files?.length) return null;
  return el(
    "ul",
    { class: "sent-files", "aria-label": gettext("Attached files") },
    files.map((file) => el("li", { class: "attachment" }, icon("file"), el("span", { class: "attachment-name free-text", dir: "auto" }, file.name))),
  );
}
