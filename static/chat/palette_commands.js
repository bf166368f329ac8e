// What can be done from the palette, in the order of the list.

import { byId } from "./dom.js";
import { exportSession } from "./export.js";
import { gettext, interpolate } from "./i18n.js";
import { listSpaces } from "./spaces.js";

const THEMES = [
  ["system", gettext("Appearance: as the system")],
  ["light", gettext("Appearance: light")],
  ["dark", gettext("Appearance: dark")],
];

/**
 * Return `[{label, icon, run, shortcut?}]`. `session`: the one that is open, or null. `actions`: {onNew, onTemporary,
 * onImport, onDetails, onShortcuts, onShowArchived, onNewSpace, onSpace(id)} and {onRename, onPin, onArchive}, which get the session;
 * onPause and onPauseEverywhere. `paused`: {session, everywhere}, whether remembering is.
 */
export function listCommands({ session, paused, actions }) {
  return [
    { label: gettext("New conversation"), icon: "plus", run: actions.onNew, shortcut: "new" },
    { label: gettext("New temporary conversation"), icon: "temporary", run: actions.onTemporary },
    ...(session ? ofSession(session, actions) : []),
    session?.temporary ? null : {
      label: paused.session ? gettext("Resume remembering in this conversation") : gettext("Pause remembering in this conversation"),
      icon: paused.session ? "resume" : "pause",
      run: actions.onPause,
    },
    {
      label: paused.everywhere ? gettext("Resume remembering everywhere") : gettext("Pause remembering everywhere"),
      icon: paused.everywhere ? "resume" : "pause",
      run: actions.onPauseEverywhere,
    },
    { label: gettext("New space"), icon: "space", run: actions.onNewSpace },
    ...listSpaces()
      .filter(({ archived }) => !archived)
      .map(({ id, name }) => ({ label: interpolate(gettext("Space: %s"), [name]), icon: "space", run: () => actions.onSpace(id) })),
    { label: gettext("Show archived conversations"), icon: "archive", run: actions.onShowArchived },
    { label: gettext("Show or hide the memory used in a reply"), icon: "memory", run: actions.onDetails, shortcut: "details" },
    { label: gettext("Import from elsewhere"), icon: "upload", run: actions.onImport },
    ...[...byId("panel-pages").content.querySelectorAll("a")].map((link) => ({
      label: link.textContent,
      icon: "panel",
      run: () => location.assign(link.href),
    })),
    ...THEMES.map(([value, label]) => ({
      label,
      icon: "theme",
      run: () => byId("theme").querySelector(`[value=${value}]`).click(),
    })),
    ...[...byId("account-menu").querySelectorAll('[name="language"]')]
      .filter((button) => button.getAttribute("aria-pressed") !== "true")
      .map((button) => ({ label: interpolate(gettext("Language: %s"), [button.textContent]), icon: "language", run: () => button.click() })),
    { label: gettext("Keyboard shortcuts"), icon: "keyboard", run: actions.onShortcuts, shortcut: "shortcuts" },
  ].filter(Boolean);
}

function ofSession(session, { onRename, onPin, onArchive }) {
  const { pinned, archived } = session;
  const of = (label, icon, run, shortcut) => ({ label, icon, run: () => run(session), shortcut });
  return [
    of(gettext("Rename this conversation"), "pencil", onRename, "rename"),
    archived ? null : of(pinned ? gettext("Unpin this conversation") : gettext("Pin this conversation"), "pin", onPin),
    of(archived ? gettext("Unarchive this conversation") : gettext("Archive this conversation"), "archive", onArchive),
    of(gettext("Export this conversation"), "download", exportSession),
  ].filter(Boolean);
}
