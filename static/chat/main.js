// Starts the chat page and connects its parts.

import { NetworkError, api } from "./api.js";
import { setUpAppearance } from "./appearance.js";
import { AttachmentTray, looksLikeExport } from "./attachments.js";
import { Composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { DetailsPanel } from "./details.js";
import { showProblem, toast } from "./dialogs.js";
import { button, byId, el, freeText } from "./dom.js";
import { FormDialog } from "./forms.js";
import { gettext, interpolate } from "./i18n.js";
import { ImportDialog } from "./imports.js";
import { Letters } from "./letters.js";
import { openMenu } from "./menu.js";
import { MessagesView } from "./messages.js";
import { ModelPicker } from "./model_picker.js";
import { Palette } from "./palette.js";
import { listCommands } from "./palette_commands.js";
import { Panels } from "./panels.js";
import { Pausing } from "./pausing.js";
import { knownSession } from "./session_store.js";
import { SessionList } from "./sessions.js";
import { bindShortcuts, labelShortcuts } from "./shortcuts.js";
import { openShortcuts } from "./shortcuts_sheet.js";
import { SpaceList } from "./space_list.js";
import { findSpace, listSpaces, reloadSpaces, spaceChanges, spaceChoices, spaceDot } from "./spaces.js";
import { welcome } from "./welcome.js";

const page = JSON.parse(byId("page").textContent);
const placeholder = byId("placeholder");
const favourites = byId("favourites");
const spacePicker = byId("space");
const REPLACED_ID = "00000000-0000-0000-0000-000000000000"; // in addresses of the panel

let conversation = null;
let listening = null;
let detailsRow = null;
const sought = new Set(); // IDs of spaces that the page did not know
const running = new Map(); // conversations that a reply is on its way to, by session id

const panels = new Panels();
const composer = new Composer({ onSend: (text) => say(text), onStop: () => run(conversation.stop()) });
const attachments = new AttachmentTray({
  getSession: () => conversation.ensureSession(),
  onChange: () => (composer.waiting = attachments?.busy ?? false),
});
const models = new ModelPicker({ models: page.models, onChoose: (name) => run(conversation.setModel(name)) });
const details = new DetailsPanel({ body: byId("details-body"), getDraft: () => composer.text.trim(), inspectorUrl: page.inspectorUrl });
const forms = new FormDialog({ onSubmit: (form) => run(conversation.submitForm(form)) });
const sessions = new SessionList({
  container: byId("sessions"),
  switcher: byId("show-archived"),
  actions: {
    onOpen: (id) => navigate(id),
    onChanged: (id) => {
      if (id === conversation.id) showHead();
    },
    onDeleted: (id) => {
      if (id === conversation.id) navigate(null, { replace: true });
    },
    onArchived: (shown) => spaces.showArchived(shown),
    onListed: () => palette.showRecent(),
  },
});
const spaces = new SpaceList({
  actions: {
    onChoose: chooseSpace,
    onMove: (sessionId, space) => run(sessions.move(knownSession(sessionId), space)),
  },
  pages: {
    memories: (id) => page.spaceMemoriesUrl.replace(REPLACED_ID, id),
    deletion: (id) => page.spaceDeletionUrl.replace(REPLACED_ID, id),
  },
});
const imports = new ImportDialog({
  onImported: () => run(sessions.reload()),
  takes: (file) => looksLikeExport(file) || conversation.state === "missing",
  onOther: (files) => attachments.add(files),
});
const pausing = new Pausing({
  everywhere: page.isPaused,
  getConversation: () => conversation,
  actions: {
    run,
    onChange: () => {
      showHead();
      showState();
    },
  },
});
new Letters({
  letter: page.letter,
  getUrl: (id) => page.letterUrl.replace(REPLACED_ID, id),
  actions: { run, onDismiss: focusComposer },
});
const palette = new Palette({
  getCommands: () => listCommands({
    session: conversation.session,
    paused: { session: !conversation.temporary && conversation.paused, everywhere: pausing.everywhere },
    actions: commandActions,
  }),
  getRecent: () => sessions.sessions,
  onOpen: (id, messageId) => navigate(id, { messageId }),
});
const messages = new MessagesView({
  container: byId("messages"),
  scroller: byId("scroller"),
  jump: byId("jump"),
  reviewUrl: page.reviewUrl,
  actions: {
    onDetails: (row) => {
      panels.openDetails();
      showDetails(row);
    },
    onEdit: (row) => {
      conversation.discard(row);
      if (row.role === "form") {
        forms.open(row.form);
      } else {
        composer.text = row.content;
        attachments.show(row.files ?? []);
        composer.focus();
      }
    },
    onSay: (text) => say(text),
    onProblem: showProblem,
  },
});

/**
 * Go to a session, at one of its messages if `messageId` says so, or to a new conversation where `id` is null. `space`:
 * whose conversations are listed, and where a new one will be.
 */
function navigate(id, { replace = false, messageId = null, temporary = false, space = spaces.chosen } = {}) {
  if (messageId && id === conversation.id && conversation.state === "ready") {
    panels.closeSidebar();
    run(showMessage(conversation, messageId, null));
    return;
  }
  setAddress({ id, space, messageId, replace });
  showSpace(space);
  open(id, { messageId, temporary });
  panels.closeSidebar();
  if (!messageId) focusComposer();
}

function focusComposer() {
  if (matchMedia("(hover: hover)").matches) composer.focus(); // on a phone a keyboard would cover the conversation
}

function setAddress({ id, space, messageId = null, replace = false }) {
  const address = (id ? `/s/${id}` : "/") + (space ? `?space=${space}` : "") + (messageId ? `#${messageId}` : "");
  if (address === location.pathname + location.search + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
}

/** List the conversations of a space, or all with null. */
function showSpace(space) {
  spaces.show(space);
  run(sessions.showSpace(space));
}

/** A space opens with a new conversation, so that nothing is said elsewhere by mistake; the list shows its others. */
function chooseSpace(space) {
  const stays = !space && conversation.id;
  setAddress({ id: stays ? conversation.id : null, space });
  showSpace(space);
  if (!stays) open(null);
  if (!panels.sidebar.classList.contains("open")) composer.focus(); // else the list is what is looked at
}

/** Put the open conversation into a space, or into none; one that is new will begin there. */
function placeIn(space) {
  if (conversation.session) {
    run(sessions.move(conversation.session, space));
    return;
  }
  conversation.chosenSpace = space;
  if (spaces.chosen) {
    setAddress({ id: null, space, replace: true });
    showSpace(space);
  }
  showHead();
  showState();
}

function open(id, { temporary = false, model = "", messageId = null, space = spaces.chosen } = {}) {
  listening?.abort();
  listening = new AbortController();
  const { signal } = listening;
  conversation = running.get(id) ?? adopt(new Conversation({ id, temporary, model, space }));
  const opened = conversation;
  const on = (name, listener) => opened.addEventListener(name, listener, { signal });
  on("state", showState);
  on("rows", showState);
  on("turn", ({ detail: row }) => row === opened.newestReply && showDetails(row));
  favourites.setAttribute("aria-pressed", "false");
  messages.onlyFavourites = false;
  messages.show(opened);
  sessions.setActive(id);
  composer.open(id);
  attachments.show(conversation.waitingFiles);
  showHead();
  showState();
  showDetails(opened.newestReply);
  const loaded = id && !running.has(id) ? opened.load().then(() => opened === conversation && showLoaded(opened)) : null;
  if (loaded) run(loaded);
  if (messageId) run(showMessage(opened, messageId, loaded));
}

/** Show a message that was looked for, however far back it is. */
async function showMessage(opened, messageId, loaded) {
  await loaded;
  if (opened === conversation && messages.onlyFavourites) await toggleFavourites();
  if (opened.state === "missing" || opened.state === "error") return; // which is said already
  const row = await opened.loadThrough(messageId);
  if (opened !== conversation) return;
  if (row) messages.reveal(row);
  else toast(gettext("This message was deleted or replaced."), { kind: "problem" });
}

/** Its turn says what to confirm under the newest reply, whether or not the panel is open. */
async function showLoaded(opened) {
  if (opened.waitingFiles.length) attachments.show(opened.waitingFiles);
  showDetails(opened.newestReply);
  if (opened.newestReply) await opened.loadTurn(opened.newestReply);
}

/** Follow a conversation for as long as it lives: its reply may come while another one is open. */
function adopt(adopted) {
  const track = () => (adopted.id && adopted.busy ? running.set(adopted.id, adopted) : running.delete(adopted.id));
  adopted.addEventListener("state", track);
  adopted.addEventListener("session", () => {
    track();
    if (adopted.session) {
      sessions.put(adopted.session);
      pausing.learn(adopted.session);
    }
    if (adopted === conversation) showSession();
  });
  return adopted;
}

function say(text) {
  if (messages.onlyFavourites) toggleFavourites();
  run(conversation.send(text, attachments.take()));
  messages.scrollToEnd();
}

/** Conversations put what went wrong into their rows; anything else is a mistake in this page, and is shown. */
function run(promise) {
  promise.catch((error) => {
    if (!(error instanceof NetworkError)) console.error(error);
    showProblem(error);
  });
}

function showSession() {
  const { id } = conversation;
  if (id && location.pathname === "/") {
    setAddress({ id, space: spaces.chosen, replace: true });
    composer.rename(id);
  }
  sessions.setActive(id);
  showHead();
}

function showHead() {
  const title = conversation.session?.title || gettext("New conversation");
  byId("title").textContent = title;
  document.title = conversation.id ? `${title} · Jiyi 记忆` : "Jiyi 记忆";
  byId("temporary-badge").hidden = !conversation.temporary;
  models.show(conversation.model);
  byId("archived-badge").hidden = !conversation.session?.archived;
  showPlace();
  pausing.show();
}

/** Where the conversation is, or will be, which can be changed right there. */
function showPlace() {
  const { id, space, temporary } = conversation;
  const found = findSpace(space);
  if (space && !found && !sought.has(space)) {
    sought.add(space);
    run(reloadSpaces()); // it was made elsewhere
  }
  const name = found?.name ?? gettext("No space");
  spacePicker.hidden = temporary || (space ? !found : Boolean(id) || !listSpaces().length);
  spacePicker.setAttribute("aria-label", interpolate(gettext("Space: %s"), [name]));
  spacePicker.replaceChildren(spaceDot(space), freeText("span", name));
}

function showState() {
  const { state, busy, rows } = conversation;
  composer.busy = busy;
  spacePicker.disabled = busy && !conversation.id; // it is being made
  composer.closed = state === "missing";
  byId("open-forms").disabled = busy || state === "missing";
  byId("attach").disabled = state === "missing";
  favourites.hidden = !rows.length;
  placeholder.replaceChildren(...placeholderFor(state, rows));
  placeholder.hidden = !placeholder.firstChild;
}

function placeholderFor(state, rows) {
  if (rows.length) return [];
  if (state === "new" || state === "ready") {
    const space = findSpace(conversation.space);
    return [welcome({ temporary: conversation.temporary, paused: pausing.find() !== null, space, actions: welcomeActions })];
  }
  if (state === "missing") {
    return [
      problem(
        gettext("Conversation not found"),
        gettext("It was deleted, or it belongs to someone else."),
        button({ class: "button primary", on: { click: () => navigate(null) } }, gettext("New conversation")),
      ),
    ];
  }
  if (state === "error") {
    return [
      problem(
        gettext("The conversation could not be loaded"),
        conversation.problem.message,
        button({ class: "button primary", on: { click: () => run(conversation.load()) } }, gettext("Try again")),
      ),
    ];
  }
  return [];
}

function problem(title, text, action) {
  return el("div", { class: "welcome", role: "alert" }, el("h2", {}, title), freeText("p", text, "soft"), action);
}

const welcomeActions = {
  onSuggestion: (text) => {
    composer.text = text;
    composer.focus();
  },
  onTemporary: (temporary) => {
    open(null, { temporary, model: conversation.model, space: conversation.chosenSpace });
    placeholder.querySelector(".switch").focus();
  },
};

function showDetails(row) {
  detailsRow = row;
  messages.select(row);
  if (panels.detailsOpen) run(details.show(conversation, row));
}

async function toggleFavourites() {
  const only = favourites.getAttribute("aria-pressed") !== "true";
  favourites.setAttribute("aria-pressed", String(only));
  if (only) await conversation.loadAll();
  messages.setOnlyFavourites(only);
}

/** Show the list of sessions where it is a drawer, before something is done in it. */
function showSidebar() {
  if (panels.sidebar.inert) panels.openSidebar();
}

const commandActions = {
  onNew: () => navigate(null),
  onTemporary: () => navigate(null, { temporary: true }),
  onImport: () => imports.open(),
  onDetails: () => toggleDetails(),
  onShortcuts: openShortcuts,
  onShowArchived: () => {
    showSidebar();
    byId("show-archived").focus();
    run(sessions.showArchived(true));
  },
  onNewSpace: () => run(spaces.create()),
  onSpace: chooseSpace,
  onRename: (session) => {
    showSidebar();
    if (spaces.chosen && spaces.chosen !== session.space) {
      setAddress({ id: conversation.id, space: session.space, replace: true });
      showSpace(session.space);
    }
    run(sessions.rename(session));
  },
  onPin: (session) => run(sessions.setPinned(session, !session.pinned)),
  onArchive: (session) => run(sessions.setArchived(session, !session.archived)),
  onPause: () => run(pausing.toggleSession()),
  onPauseEverywhere: () => run(pausing.toggleEverywhere()),
};

function toggleDetails() {
  panels.toggleDetails();
  if (panels.detailsOpen) showDetails(detailsRow);
}

function setUpKeys() {
  labelShortcuts();
  bindShortcuts({
    palette: () => palette.open(),
    new: () => navigate(null),
    details: toggleDetails,
    rename: () => {
      const focused = document.activeElement.closest("[data-session]")?.dataset.session ?? conversation.id;
      const session = sessions.sessions.find(({ id }) => id === focused) ?? conversation.session;
      if (!session) return false;
      commandActions.onRename(session);
    },
    shortcuts: openShortcuts,
    stop: () => {
      if (!conversation.busy || document.querySelector(":popover-open")) return false;
      run(conversation.stop());
    },
  });
}

/** The space that the address names, or null. */
function namedSpace() {
  return findSpace(new URLSearchParams(location.search).get("space"))?.id ?? null;
}

/** The message that the address names, or null. */
function namedMessage() {
  return location.hash.match(/^#([\da-f-]{36})$/)?.[1] ?? null;
}

function setUpConnectionBanner() {
  const show = () => (byId("offline-banner").hidden = navigator.onLine);
  addEventListener("online", show);
  addEventListener("offline", show);
  show();
}

/** C8: days are counted in the browser's time zone, unless its owner chose one. */
async function setTimezone() {
  if (page.timezoneIsSet) return;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  try {
    await api.updateSettings({ "memory.timezone": zone });
  } catch (error) {
    console.info(`The time zone ${zone} was not stored: ${error.message}`); // days stay those of UTC; nothing breaks
  }
}

byId("new-session").addEventListener("click", () => navigate(null));
byId("open-palette").addEventListener("click", () => palette.open());
byId("open-shortcuts").addEventListener("click", () => {
  byId("account-menu").hidePopover();
  openShortcuts();
});
byId("home").addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  navigate(null, { space: null });
});
spacePicker.addEventListener("click", () => openMenu(spacePicker, spaceChoices(conversation.space, placeIn)));
spaceChanges.addEventListener("change", () => {
  showHead();
  showState();
});
byId("open-forms").addEventListener("click", () => forms.open());
favourites.addEventListener("click", () => run(toggleFavourites()));
byId("toggle-details").addEventListener("click", () => panels.detailsOpen && showDetails(detailsRow));
// Whatever makes the page go away (a reload, the log-in page), what was not sent is found in the composer again.
addEventListener("pagehide", () => {
  const unsent = conversation.rows.filter((row) => row.role === "user" && row.status === "unsent");
  if (unsent.length) composer.text = [...unsent.map((row) => row.content), composer.text].filter(Boolean).join("\n");
});
addEventListener("popstate", () => {
  showSpace(namedSpace());
  open(location.pathname.match(/^\/s\/([\w-]+)$/)?.[1] ?? null, { messageId: namedMessage() });
});

setUpAppearance();
setUpKeys();
setUpConnectionBanner();
showSpace(namedSpace());
open(page.sessionId, { messageId: namedMessage() });
run(sessions.loadMore());
run(setTimezone());
run(imports.follow());
