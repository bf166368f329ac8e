// Bringing one's past: a file is dropped or chosen, looked through, imported in the background, and can be undone.

import { api } from "./api.js";
import { confirm, openDialog, showProblem, toast } from "./dialogs.js";
import { byId, button, definitions, el, freeText, icon } from "./dom.js";
import { formatCount, formatDate, formatMoment, formatShare, gettext, interpolate, ngettext } from "./i18n.js";
import { FORMATS, formatName, reasonLabel, sayProblem, shortName } from "./imports_words.js";

const ASK_EVERY = 1500; // milliseconds, while an import is under way
const SHOWN = 8; // of what was not imported
const UNDER_WAY = new Set(["queued", "reading", "running", "undoing"]);

/**
 * `onImported()` is called when conversations have come, or gone. `takes(file)`: whether a file that was dropped is looked
 * through; the others go to `onOther(files)`.
 */
export class ImportDialog {
  #shown = null; // the import that the dialog shows
  #timer = null;
  #looked = null; // the file that is being looked through

  constructor({ onImported, takes, onOther }) {
    this.onImported = onImported;
    this.takes = takes;
    this.onOther = onOther;
    this.dialog = byId("import");
    this.body = byId("import-body");
    this.actions = byId("import-actions");
    this.status = byId("import-status");
    this.input = byId("import-file");
    byId("open-import").addEventListener("click", () => {
      byId("account-menu").hidePopover();
      this.open();
    });
    this.status.addEventListener("click", () => this.open());
    this.input.addEventListener("change", () => this.#look(this.input.files[0]));
    this.#takeDrops();
  }

  /** Find out whether an import is under way, from before the page was loaded, say. */
  async follow() {
    const { results } = await api.listImports({ limit: 1 });
    if (results[0] && UNDER_WAY.has(results[0].state)) this.#watch(results[0]);
  }

  /** Open with what is under way, or to choose a file. */
  open() {
    if (!this.dialog.open) openDialog(this.dialog);
    if (this.#shown && UNDER_WAY.has(this.#shown.state)) this.#showImport(this.#shown);
    else this.#showChoice();
  }

  #takeDrops() {
    const hasFile = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const hint = byId("drop-hint");
    let depth = 0;
    const over = (by) => {
      depth = Math.max(0, depth + by);
      hint.hidden = depth === 0;
    };
    addEventListener("dragenter", (event) => hasFile(event) && over(1));
    addEventListener("dragleave", (event) => hasFile(event) && over(-1));
    addEventListener("dragover", (event) => hasFile(event) && event.preventDefault());
    addEventListener("drop", (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      over(-depth);
      const other = document.querySelector("dialog[open]:not(#import)");
      const files = [...event.dataTransfer.files];
      if (other || !files.length) return;
      if (this.dialog.open || this.takes(files[0])) this.#look(files[0]);
      else this.onOther(files);
    });
  }

  #show(nodes, actions = []) {
    delete this.body.dataset.import;
    this.body.replaceChildren(...nodes.filter(Boolean));
    this.actions.replaceChildren(...actions);
  }

  // Choosing a file

  #showChoice() {
    this.#looked = null;
    const choose = button(
      { class: "button primary", on: { click: () => this.input.click() } },
      gettext("Choose a file"),
    );
    const formats = el("ul", { class: "import-formats" }, FORMATS.map((format) => el("li", {}, formatName(format))));
    const earlier = el("div", { class: "import-earlier" });
    this.#show([
      el(
        "p",
        { class: "dialog-text" },
        gettext("Import conversations and memories that you have elsewhere."),
        " ",
        gettext("You first see what the file contains. Nothing is imported until you confirm."),
      ),
      el("div", { class: "drop-zone" }, icon("upload"), el("p", {}, gettext("Drop a file here")), choose),
      el("a", { class: "import-paste", href: this.dialog.dataset.paste }, gettext("Paste what another assistant remembers")),
      el("div", {}, el("h3", {}, gettext("What can be imported")), formats),
      earlier,
    ]);
    choose.focus();
    this.#listEarlier(earlier).catch(showProblem);
  }

  async #listEarlier(place) {
    const { results } = await api.listImports({ limit: 5 });
    if (!results.length) return;
    const rows = results.map((done) =>
      el("li", {}, button(
        { class: "import-row", on: { click: () => this.#open(done) } },
        freeText("span", done.file_name || shortName(done.format)),
        el("span", { class: "soft" }, `${stateLabel(done)} · ${formatMoment(new Date(done.created_at))}`),
      )),
    );
    place.replaceChildren(el("h3", {}, gettext("Earlier imports")), el("ul", {}, ...rows));
  }

  #open(past) {
    if (UNDER_WAY.has(past.state)) this.#watch(past);
    this.#showImport(past);
  }

  // The preview

  async #look(file) {
    this.input.value = "";
    if (!file) return;
    this.#looked = file;
    if (!this.dialog.open) openDialog(this.dialog);
    this.#show([
      el(
        "p",
        { class: "import-wait", role: "status" },
        el("span", { class: "spinner" }),
        interpolate(gettext("Reading %s…"), [file.name]),
      ),
    ]);
    try {
      const preview = await api.previewImport(file);
      if (this.#looked === file) this.#showPreview(file, preview);
    } catch (error) {
      if (this.#looked !== file) return; // another one was dropped meanwhile
      this.#show([el("p", { class: "problem", role: "alert" }, sayProblem(error.message))], [this.#back()]);
    }
  }

  #showPreview(file, preview) {
    const { found, proposals, rows } = preview;
    const anything = found.conversations || found.memories || proposals || Object.keys(rows).length;
    const start = button({ class: "button primary", on: { click: () => this.#import(file, start) } }, gettext("Import"));
    this.#show(
      [
        freeText("p", file.name, "import-file-name"),
        definitions("import-facts", [
          [gettext("Format"), shortName(preview.format)],
          [gettext("Conversations"), formatCount(preview.found.conversations)],
          [gettext("Messages"), formatCount(preview.found.messages)],
          [gettext("Memories"), formatCount(preview.found.memories)],
          ...(preview.first ? [[gettext("Dates"), formatPeriod(preview)]] : []),
        ]),
        preview.problem && el("p", { class: "problem" }, sayProblem(preview.problem)),
        ...keptApart(preview),
        samples(preview),
        leftOut(preview.left_out, preview.examples),
        !anything && el("p", { class: "problem" }, gettext("There is nothing in this file that can be imported.")),
      ],
      [this.#back(), ...(anything ? [start] : [])],
    );
    (anything ? start : this.actions.firstChild).focus();
  }

  async #import(file, start) {
    start.disabled = true;
    try {
      const created = await api.createImport(file);
      this.#watch(created);
      this.#showImport(created);
    } catch (error) {
      start.disabled = false;
      showProblem(error);
    }
  }

  // Progress and report

  /** Ask how an import is doing until it has ended, whether or not the dialog is open. */
  #watch(past) {
    this.#shown = past;
    this.#showStatus();
    clearTimeout(this.#timer);
    const ask = async () => {
      try {
        this.#shown = await api.getImport(past.id);
      } catch (error) {
        if (error.status === 404) return this.#forget();
      }
      this.#showStatus();
      if (this.#isShown(past.id)) this.#showImport(this.#shown);
      if (UNDER_WAY.has(this.#shown.state)) this.#timer = setTimeout(ask, ASK_EVERY);
      else this.#ended();
    };
    this.#timer = setTimeout(ask, ASK_EVERY);
  }

  #isShown(id) {
    return this.dialog.open && this.body.dataset.import === id;
  }

  #forget() {
    this.#shown = null;
    this.status.hidden = true;
  }

  #ended() {
    this.onImported();
    if (!this.dialog.open) toast(stateLabel(this.#shown));
  }

  #showStatus() {
    const past = this.#shown;
    this.status.hidden = !UNDER_WAY.has(past.state);
    const share = past.state === "running" && past.total ? ` ${formatShare(past.done / past.total)}` : "";
    byId("import-status-text").textContent = `${stateLabel(past)}${share}`;
  }

  #showImport(past) {
    const again = this.body.dataset.import === past.id && this.body.dataset.state === past.state;
    const focused = again && this.actions.contains(document.activeElement);
    const { report } = past;
    this.#show(
      [
        freeText("p", past.file_name || shortName(past.format), "import-file-name"),
        el("p", { role: "status" }, stateLabel(past)),
        UNDER_WAY.has(past.state) && progressOf(past),
        past.problem && el("p", { class: "problem" }, sayProblem(past.problem)),
        report.imported && facts(report),
        ...keptApart(report),
        report.tables && restored(report.tables),
        report.undone && undone(report.undone),
        report.skipped && leftOut({ ...report.skipped, ...report.left_out, failed: report.failed }),
        ...remarks(past),
      ],
      this.#actionsFor(past),
    );
    this.body.dataset.import = past.id;
    this.body.dataset.state = past.state;
    if (focused || !again) this.actions.lastChild?.focus();
  }

  #actionsFor(past) {
    if (past.state === "undoing") return [];
    if (UNDER_WAY.has(past.state)) {
      return [button({ class: "button", on: { click: () => this.#cancel(past) } }, gettext("Cancel import"))];
    }
    const undo = button({ class: "button", on: { click: () => this.#undo(past) } }, gettext("Undo import"));
    const remove = button({ class: "button", on: { click: () => this.#remove(past) } }, gettext("Remove from list"));
    const close = button({ class: "button primary", "data-close": true }, gettext("Close"));
    return [remove, ...(past.can_undo ? [undo] : []), this.#back(gettext("Another file")), close];
  }

  #back(label = gettext("Back")) {
    return button({ class: "button", on: { click: () => this.#showChoice() } }, label);
  }

  async #cancel(past) {
    try {
      await api.removeImport(past.id);
      clearTimeout(this.#timer);
      this.#shown = await api.getImport(past.id);
      this.#showStatus();
      this.#showImport(this.#shown);
      this.#ended();
    } catch (error) {
      showProblem(error);
    }
  }

  async #undo(past) {
    const sure = await confirm({
      title: gettext("Undo this import?"),
      text: gettext("Its conversations and memories, and what was learned from them, are deleted."),
      yes: gettext("Undo import"),
    });
    if (!sure) return;
    try {
      const undoing = await api.undoImport(past.id);
      this.#watch(undoing);
      this.#showImport(undoing);
    } catch (error) {
      showProblem(error);
    }
  }

  async #remove(past) {
    try {
      await api.removeImport(past.id);
      if (this.#shown?.id === past.id) this.#forget();
      this.#showChoice();
    } catch (error) {
      showProblem(error);
    }
  }
}

function stateLabel({ state }) {
  return {
    queued: gettext("Waiting to start"),
    reading: gettext("Reading the file"),
    running: gettext("Importing"),
    done: gettext("Import finished"),
    cancelled: gettext("Import cancelled"),
    failed: gettext("Import failed"),
    undoing: gettext("Undoing the import"),
    undone: gettext("Import undone"),
  }[state];
}

function progressOf({ state, total, done }) {
  const known = state === "running" && total > 0;
  const amount = known ? { value: done, max: total } : {};
  const bar = el("progress", { class: "import-progress", "aria-label": gettext("Progress"), ...amount });
  const words = known ? interpolate(gettext("%s of %s"), [formatCount(done), formatCount(total)]) : "";
  return el("div", { class: "import-bar" }, bar, el("span", { class: "soft" }, words));
}

function facts({ imported }) {
  return definitions("import-facts", [
    [gettext("Conversations"), formatCount(imported.conversations)],
    [gettext("Messages"), formatCount(imported.messages)],
    [gettext("Memories"), formatCount(imported.memories)],
  ]);
}

/** What is imported and does not become memory by itself. */
function keptApart({ unlearned, proposals }) {
  const told = [
    [unlearned, ngettext(
      "%s conversation is kept for reading only, as memory was off in it.",
      "%s conversations are kept for reading only, as memory was off in them.",
      unlearned,
    )],
    [proposals, ngettext(
      "%s text about you is proposed for your profile.",
      "%s texts about you are proposed for your profile.",
      proposals,
    )],
  ];
  return told.map(([count, text]) => count > 0 && el("p", { class: "soft" }, interpolate(text, [formatCount(count)])));
}

function restored(tables) {
  const rows = Object.values(tables).reduce((sum, { restored: count }) => sum + count, 0);
  return el("p", {}, interpolate(ngettext("%s entry was restored.", "%s entries were restored.", rows), [formatCount(rows)]));
}

function undone({ sessions, kept }) {
  const gone = ngettext("%s conversation was deleted.", "%s conversations were deleted.", sessions);
  const stays = ngettext("%s memory was changed since and stays.", "%s memories were changed since and stay.", kept);
  const told = [interpolate(gone, [formatCount(sessions)]), kept ? interpolate(stays, [formatCount(kept)]) : ""];
  return el("p", {}, told.filter(Boolean).join(" "));
}

function samples({ conversations, memories }) {
  const lines = [
    ...conversations.map(({ title, said }) => (title && said ? `${title}: ${said}` : title || said)),
    ...memories,
  ].filter(Boolean);
  if (!lines.length) return null;
  return el("div", {}, el("h3", {}, gettext("For example")), listOf(lines));
}

function leftOut(counts, examples = []) {
  const entries = Object.entries(counts).filter(([, count]) => count);
  if (!entries.length) return null;
  const shown = examples.filter(({ label }) => label).slice(0, SHOWN);
  const reasons = entries.map(([reason, count]) => [reasonLabel(reason), formatCount(count)]);
  return el(
    "details",
    { class: "import-left-out" },
    el("summary", {}, gettext("What is not imported, and why")),
    definitions("import-reasons", reasons),
    shown.length ? listOf(shown.map(({ label, reason }) => `${label} · ${reasonLabel(reason)}`)) : null,
  );
}

function remarks({ state, report }) {
  const remark = (text) => el("p", { class: "soft" }, text);
  if (UNDER_WAY.has(state)) return [remark(gettext("You can close this window. The import continues in the background."))];
  if (state !== "done" || !report.imported?.messages) return [];
  return [remark(gettext("What was said in the conversations is now learned in the background."))];
}

function listOf(lines) {
  return el("ul", { class: "import-samples" }, lines.map((line) => freeText("li", line)));
}

function formatPeriod({ first, last }) {
  const [from, to] = [first, last].map((time) => formatDate(new Date(time)));
  return from === to ? from : `${from} – ${to}`;
}
