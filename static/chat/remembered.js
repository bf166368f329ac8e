// What a turn remembered, and what its owner can do about it: accept, reject, forget.

import { ApiError, NetworkError, api } from "./api.js";
import { confirm, showProblem, toast } from "./dialogs.js";
import { button, el, freeText, icon, smallButton } from "./dom.js";
import { gettext, interpolate, ngettext } from "./i18n.js";
import { DELETED, formatValue, label } from "./labels.js";

/** Return a list item for one of `memory_updates[]`. What is done about it is kept in `update.outcome`. */
export function rememberedItem(update) {
  const item = el("li", { class: "update", "data-action": update.action });
  const settle = (outcome) => {
    update.outcome = outcome;
    render();
  };
  const decide = (call, outcome) => async () => {
    try {
      await call(update.id);
      settle(outcome);
    } catch (error) {
      showProblem(error);
    }
  };
  const render = () => {
    const known = update.key !== DELETED;
    item.replaceChildren(
      el(
        "p",
        { class: "update-head" },
        el("span", { class: `badge ${update.action}` }, OUTCOMES[update.outcome] ?? label("action", update.action)),
        known ? el("span", { class: "soft" }, label("category", update.category)) : null,
      ),
      known ? entry(update) : el("p", { class: "soft" }, gettext("(deleted)")),
    );
    item.classList.toggle("gone", update.outcome === "forgotten" || update.outcome === "rejected");
    if (!known || update.outcome === "forgotten" || update.outcome === "rejected") return;
    if (update.action === "pending" && !update.outcome) {
      item.append(
        el(
          "div",
          { class: "update-actions" },
          smallButton("check", gettext("Accept"), decide(api.acceptMemory, "accepted"), { kind: "primary" }),
          smallButton("close", gettext("Reject"), decide(api.rejectMemory, "rejected")),
        ),
      );
    } else {
      const text = `${update.key}: ${formatValue(update.value)}`;
      const forget = forgetButton({ id: update.id, text, onForgotten: () => settle("forgotten") });
      item.append(el("div", { class: "update-actions" }, forget));
    }
  };
  render();
  if (update.action === "pending" && !update.outcome) catchUp(update, settle);
  return item;
}

/** A turn keeps what happened in it; the present status of a pending memory is asked for. */
async function catchUp(update, settle) {
  try {
    const { status } = await api.getMemory(update.id);
    if (status !== "pending") settle(status === "rejected" ? "rejected" : "accepted");
  } catch (error) {
    if (error.status === 404) settle("forgotten");
    else if (!(error instanceof ApiError || error instanceof NetworkError)) throw error; // else it stays undecided
  }
}

function entry({ key, value }) {
  const what = el("span", { class: "soft" }, key);
  return el("p", { class: "free-text", dir: "auto" }, what, " ", el("strong", {}, formatValue(value)));
}

const OUTCOMES = { accepted: gettext("Accepted"), rejected: gettext("Rejected"), forgotten: gettext("Forgotten") };

/** Return a button that deletes a memory after asking, and on request a long-term one's copies elsewhere (SPEC, L6). */
export function forgetButton({ id, kind = "long_term", text, onForgotten }) {
  const forget = async () => {
    try {
      const { results: copies } = kind === "long_term" ? await api.listCopies(id) : { results: [] };
      const alsoCopies = el("input", { type: "checkbox", checked: true });
      const sure = await confirm({
        title: gettext("Forget this?"),
        text: gettext("It is permanently deleted with its history and will not be learned again from past messages."),
        details: [freeText("blockquote", text), copies.length ? copiesChoice(copies, alsoCopies) : null],
        yes: gettext("Forget"),
      });
      if (!sure) return;
      if (kind === "atomic") await api.forgetAtomicMemory(id);
      else await api.forgetMemory(id, { copies: copies.length > 0 && alsoCopies.checked });
    } catch (error) {
      showProblem(error);
      return;
    }
    toast(gettext("Forgotten."));
    onForgotten();
  };
  return smallButton("trash", gettext("Forget"), forget, { kind: "quiet" });
}

/**
 * Return a button that mutes a memory, or recalls it again (L10). It may have been muted since the reply: what it is now
 * is asked for when `card` opens.
 */
export function muteButton({ id, kind, card }) {
  const set = async (muted) => {
    try {
      await api.setMuted(id, kind, muted);
      show(muted);
    } catch (error) {
      showProblem(error);
      return;
    }
    const undo = { label: gettext("Undo"), run: () => set(!muted) };
    toast(muted ? gettext("Muted. It is kept, and no longer recalled.") : gettext("It may be recalled again."), { action: undo });
  };
  const name = el("span", {});
  const sign = el("span", { class: "mute-sign" });
  const toggle = button({ class: "button small quiet", "data-action": "mute", on: { click: () => set(toggle.dataset.muted !== "true") } }, sign, name);
  const show = (muted) => {
    toggle.dataset.muted = String(muted);
    sign.replaceChildren(icon(muted ? "unmute" : "mute"));
    name.textContent = muted ? gettext("Unmute") : gettext("Mute");
  };
  const look = async () => {
    try {
      show(await api.isMuted(id, kind));
    } catch (error) {
      if (error.status === 404) toggle.remove();
      else if (!(error instanceof ApiError || error instanceof NetworkError)) throw error; // it stays as it was
    }
  };
  show(false);
  card.addEventListener("toggle", () => card.open && look());
  return toggle;
}

const PLACES = {
  working: gettext("Current context"),
  long_term: gettext("Long-term memory"),
  atomic: gettext("Atomic memory"),
  profile: gettext("Profile"),
  summary: gettext("Summary"),
  context: gettext("Shared context"),
};

function copiesChoice(copies, checkbox) {
  const title = ngettext(
    "Also found in %s other place. Delete it there too",
    "Also found in %s other places. Delete it there too",
    copies.length,
  );
  const places = copies.map(({ kind, field, text }) => {
    const name = field ? `${field.replace(/^hitl_/, "")}: ` : "";
    return el("li", { class: "free-text" }, el("span", { class: "soft" }, PLACES[kind] ?? kind), ` ${name}${text}`);
  });
  const choice = el("label", {}, checkbox, interpolate(title, [copies.length]));
  return el("div", { class: "copies" }, choice, el("ul", {}, places));
}
