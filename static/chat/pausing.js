// Pausing what is remembered (D5): everywhere, in a space, in a conversation. What pauses the open conversation stands
// above the composer, with a button to resume; the button in its head pauses and resumes each of them.

import { api } from "./api.js";
import { byId, el, icon } from "./dom.js";
import { gettext, interpolate } from "./i18n.js";
import { openMenu } from "./menu.js";
import { readSession } from "./session_store.js";
import { findSpace, reloadSpaces, updateSpace } from "./spaces.js";

/** Return the mark of what remembering is paused in. */
export function pausedSign(label = gettext("Remembering is paused")) {
  return el("span", { class: "paused-sign", role: "img", "aria-label": label, title: label }, icon("pause"));
}

export class Pausing {
  /** `everywhere`: whether it is paused there. `actions`: {onChange(), run(promise)}; `getConversation()`: the open one. */
  constructor({ everywhere, getConversation, actions }) {
    this.everywhere = everywhere;
    this.getConversation = getConversation;
    this.actions = actions;
    this.button = byId("pause");
    this.banner = byId("pause-banner");
    this.button.addEventListener("click", () => openMenu(this.button, this.#choices()));
    byId("resume").addEventListener("click", () => {
      this.button.focus();
      actions.run(this.#set(this.find(), false));
    });
  }

  /** Return what pauses the open conversation, the widest first: "everywhere", "space", "session" or null. */
  find() {
    const conversation = this.getConversation();
    if (conversation.temporary) return null; // nothing is learned there anyway
    if (this.everywhere) return "everywhere";
    if (findSpace(conversation.space)?.paused) return "space";
    return conversation.paused ? "session" : null;
  }

  /** Take in what the server says pauses a session: it may have been paused or resumed elsewhere. */
  learn({ space, paused_by: pausedBy }) {
    this.everywhere = pausedBy === "everywhere";
    const known = findSpace(space);
    if (known && !this.everywhere && known.paused !== (pausedBy === "space")) this.actions.run(reloadSpaces());
  }

  show() {
    const pausedBy = this.find();
    this.button.hidden = this.getConversation().temporary;
    this.button.setAttribute("aria-pressed", String(pausedBy !== null));
    this.banner.hidden = pausedBy === null;
    if (pausedBy) byId("pause-about").textContent = this.#say(pausedBy);
  }

  /** Pause or resume the open conversation itself. */
  toggleSession() {
    return this.#set("session", !this.getConversation().paused);
  }

  /** Pause or resume everywhere. */
  toggleEverywhere() {
    return this.#set("everywhere", !this.everywhere);
  }

  #say(pausedBy) {
    if (pausedBy === "everywhere") return gettext("Remembering is paused everywhere. Nothing new you say is remembered.");
    if (pausedBy === "session") return gettext("Remembering is paused in this conversation. Nothing new you say here is remembered.");
    const { name } = findSpace(this.getConversation().space);
    return interpolate(gettext("Remembering is paused in “%s”. Nothing new you say there is remembered."), [name]);
  }

  #choices() {
    const conversation = this.getConversation();
    const space = findSpace(conversation.space);
    const choice = (what, isPaused, pause, resume) => ({
      sign: icon(isPaused ? "resume" : "pause"),
      label: isPaused ? resume : pause,
      run: () => this.actions.run(this.#set(what, !isPaused)),
    });
    return [
      choice(
        "session",
        conversation.paused,
        gettext("Pause remembering in this conversation"),
        gettext("Resume remembering in this conversation"),
      ),
      space &&
        choice(
          "space",
          space.paused,
          interpolate(gettext("Pause remembering in “%s”"), [space.name]),
          interpolate(gettext("Resume remembering in “%s”"), [space.name]),
        ),
      choice("everywhere", this.everywhere, gettext("Pause remembering everywhere"), gettext("Resume remembering everywhere")),
    ];
  }

  async #set(what, paused) {
    const conversation = this.getConversation();
    if (what === "session") await conversation.setPaused(paused);
    else if (what === "space") await updateSpace(conversation.space, { paused });
    else this.everywhere = (await api.updateSettings({ "memory.paused": paused }))["memory.paused"];
    if (conversation.id) await readSession(conversation.id); // which says, too, what pauses it
    this.actions.onChange();
  }
}
