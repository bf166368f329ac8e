// Writing a message: a field that grows, keys that do what people expect, and drafts that survive.

import { byId } from "./dom.js";
import { isPressed } from "./shortcuts.js";

const DRAFTS = "draft ";

/** `onSend(text)` gets what was written, trimmed, never blank; `onStop()` is asked to stop the reply. */
export class Composer {
  #busy = false;
  #closed = false;
  #waiting = false;
  #sends = false; // as soon as nothing is waited for
  #session = null;

  constructor({ onSend, onStop }) {
    this.onSend = onSend;
    this.stopButton = byId("stop");
    this.stopButton.addEventListener("click", onStop);
    this.field = byId("draft");
    this.button = byId("send");
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("input", () => this.#changed());
    this.field.addEventListener("keydown", (event) => {
      if (!isPressed(event, "send")) return;
      event.preventDefault();
      this.#send();
    });
  }

  get text() {
    return this.field.value;
  }

  set text(value) {
    this.field.value = value;
    this.#changed();
  }

  focus() {
    this.field.focus();
  }

  /** There is nobody to say anything to. */
  set closed(closed) {
    this.#closed = closed;
    this.#changed();
  }

  /** Something that belongs to the message is on its way; what is sent meanwhile waits for it. */
  set waiting(waiting) {
    this.#waiting = waiting;
    if (!waiting && this.#sends) this.#send();
  }

  /** Writing may go on while a reply is on its way; sending may not. */
  set busy(busy) {
    if (this.#busy === busy) return;
    const focused = [this.button, this.stopButton].includes(document.activeElement);
    this.#busy = busy;
    this.stopButton.hidden = !busy;
    this.button.hidden = busy;
    if (focused) this.field.focus();
    this.#changed();
  }

  /** Change to the draft of another session; the one left behind is kept for this tab. */
  open(sessionId) {
    this.#sends = false;
    const typed = this.#session ? "" : this.field.value; // while the page was still loading
    this.#session = sessionId ?? "new";
    const draft = readDraft(this.#session);
    this.text = typed === draft ? draft : [draft, typed].filter(Boolean).join("\n");
  }

  /** The session that was new has an id now: its draft moves with it. */
  rename(sessionId) {
    writeDraft(this.#session, "");
    this.#session = sessionId;
    this.#changed();
  }

  #changed() {
    this.button.disabled = this.#busy || this.#closed || !this.text.trim();
    this.field.style.blockSize = "auto";
    this.field.style.blockSize = `${this.field.scrollHeight}px`;
    if (this.#session) writeDraft(this.#session, this.text);
  }

  #send() {
    const text = this.text.trim();
    this.#sends = Boolean(text) && this.#waiting;
    this.button.setAttribute("aria-busy", String(this.#sends));
    if (!text || this.#busy || this.#closed || this.#waiting) return;
    this.text = "";
    this.onSend(text);
  }
}

function readDraft(session) {
  try {
    return sessionStorage.getItem(DRAFTS + session) ?? "";
  } catch {
    return ""; // storage is blocked: drafts live as long as the page
  }
}

function writeDraft(session, text) {
  try {
    if (text) sessionStorage.setItem(DRAFTS + session, text);
    else sessionStorage.removeItem(DRAFTS + session);
  } catch {
    // As above.
  }
}
