// The letter about what was tidied up (D2): told above the composer until its person opens or dismisses it. It is written
// while nobody is here, so the server is asked again when somebody comes back to a page that was left open.

import { api } from "./api.js";
import { byId } from "./dom.js";
import { gettext, interpolate, ngettext } from "./i18n.js";

const AWAY = 10 * 60 * 1000; // milliseconds after which coming back is worth a question
const LOOKED_AT = 5; // runs that found nothing leave no letter

export class Letters {
  /** `letter`: {id, changes} or null; `getUrl(id)`: its page. `actions`: {run(promise), onDismiss()}. */
  constructor({ letter, getUrl, actions }) {
    this.getUrl = getUrl;
    this.notice = byId("letter-notice");
    this.link = byId("letter-link");
    this.link.addEventListener("click", () => this.show(null));
    byId("dismiss-letter").addEventListener("click", () => {
      const { id } = this.letter;
      this.show(null);
      actions.onDismiss();
      actions.run(api.markLetterSeen(id));
    });
    this.show(letter);
    this.#lookAfterAbsences();
  }

  show(letter) {
    this.letter = letter;
    this.notice.hidden = letter === null;
    if (!letter) return;
    byId("letter-about").textContent = say(letter.changes);
    this.link.hidden = letter.changes === 0;
    this.link.href = this.getUrl(letter.id);
  }

  #lookAfterAbsences() {
    let left = Date.now();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) left = Date.now();
      // Who is offline, or logged out, is told so by what they do next.
      else if (Date.now() - left > AWAY) this.#look().catch(() => {});
    });
  }

  async #look() {
    const { results } = await api.listLetters({ limit: LOOKED_AT });
    const written = results.find((run) => run.state === "done" && (run.by_hand || countChanges(run)));
    this.show(written && !written.seen_at ? { id: written.id, changes: countChanges(written) } : null);
  }
}

function countChanges({ operations, proposals }) {
  return operations.length + proposals.length;
}

function say(changes) {
  if (!changes) return gettext("I looked through your memories: there was nothing to tidy up.");
  return interpolate(ngettext("I tidied up your memories: %s change.", "I tidied up your memories: %s changes.", changes), [changes]);
}
