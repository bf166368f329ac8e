// One conversation as data: its messages, and what is on its way. It knows the API and no elements.
//
// A row is one message as the page holds it:
//   {id, role, content, status, createTime, favourite, stopped, notRemembered, secrets, edited, error, key, files, form,
//    turn, figures, changes}
// role: "user" | "assistant" | "summary" | "form" (a submitted form: it has no message of its own on the server).
// status: "complete" | "pending" (the server is at work) | "failed" (stored, without a reply; can be retried) |
//   "sending" | "streaming" (of a reply) | "unsent" (never reached the server, or was refused).
// notRemembered: excluded categories for which something in it is not remembered (D4).
// secrets: kinds of what a message holds that is never remembered.
// stopped: the reply ends where the person stopped it. edited: the message took the place of an earlier one.
// turn: of a reply, as the API gives it, once it was asked for; figures: how much it recalled and remembered, until then.
// pausedBy: what paused remembering when it was said, or null.
// files: what was attached to it, [{id, name, characters}]. changes: what its turn put in the place of something else, [{key, before, after, operation, undone}].
// id is null until the server gave one; `key` makes sending again safe (Idempotency-Key).

import { ApiError, NetworkError, api, newKey } from "./api.js";
import { gettext } from "./i18n.js";
import { changeSession, createSession, knownSession, readSession } from "./session_store.js";

const PAGE = 50;
const ALL = 200;
const POLL_MILLISECONDS = 1500;

/**
 * Events: "rows" (rows came, went or changed order), "row" (detail: the row that changed), "delta" (detail: the reply
 * that grew), "turn" (detail: a reply whose turn is known now), "state" (loading or busy changed), "session" (the
 * session was created or changed).
 */
export class Conversation extends EventTarget {
  rows = [];
  earlier = 0; // messages on the server before the first row
  state = "new"; // "new" | "loading" | "ready" | "missing" | "error"
  problem = null;
  #loadingOlder = null;
  #underWay = 0; // turns; a form and a retried message can overlap
  #edited = new Set(); // IDs of messages whose edit can be undone
  #figures = new Map(); // by the ID of the reply
  #files = new Map(); // what was attached, by the ID of the message; of null what was not sent yet
  #creating = null;
  #choosing = null; // the choice of a model, or a pause, on its way to the server
  #knowsAllTurns = false; // whether a reply that has no figures has no turn

  /** `id`: of the session, or null for one that is created with its first message, in `space` (null for none). */
  constructor({ id = null, temporary = false, model = "", space = null } = {}) {
    super();
    this.id = id;
    this.chosenPause = false;
    this.model = model;
    this.temporary = temporary;
    this.chosenSpace = space;
  }

  /** The ID of the space it is in, or will be in; null for none. */
  get space() {
    if (this.session) return this.session.space;
    return this.id || this.temporary ? null : this.chosenSpace;
  }

  /** Whether remembering is paused in it, or will be once it is begun. */
  get paused() {
    return this.session?.paused ?? this.chosenPause;
  }

  get busy() {
    return this.#underWay > 0;
  }

  /** The session as it is known, or null. */
  get session() {
    return this.id && knownSession(this.id);
  }

  /** The files that wait for a message. */
  get waitingFiles() {
    return this.#files.get(null) ?? [];
  }

  /** The newest reply that is stored. */
  get newestReply() {
    return this.rows.findLast((row) => row.role === "assistant" && row.id) ?? null;
  }

  /** Load the session and its newest messages; keep older ones and those not sent yet. */
  async load() {
    this.#setState("loading");
    try {
      const [session, edits, turns, files] = await Promise.all([
        readSession(this.id),
        api.listEdits(this.id),
        api.listTurns(this.id),
        api.listAttachments(this.id),
      ]);
      this.#files = groupByMessage(files.results);
      this.#figures = new Map(turns.results.map((turn) => [turn.message_id, turn]));
      this.#knowsAllTurns = turns.results.length === turns.count;
      this.#edited = new Set(edits.results.map((edit) => edit.message_id));
      this.temporary = session.temporary;
      this.model = session.model;
      await this.#loadNewest({ isFirst: true });
      this.#setState("ready");
      this.#emit("session");
    } catch (error) {
      this.problem = error;
      this.#setState(error.status === 404 ? "missing" : "error");
      return;
    }
    const last = this.rows.findLast((row) => row.id);
    if (last?.role === "user" && last.status === "pending") await this.#awaitReply(last);
  }

  async #loadNewest({ isFirst = false } = {}) {
    let page = await api.listMessages(this.id, { limit: PAGE, offset: 0 });
    let offset = 0;
    if (page.count > PAGE) {
      offset = page.count - PAGE;
      page = await api.listMessages(this.id, { limit: PAGE, offset });
    }
    const known = new Map(this.rows.filter((row) => row.id).map((row) => [row.id, row]));
    const fresh = page.results.map((message) => assignMessage(known.get(message.id) ?? newRow(), message));
    const ids = new Set(fresh.map((row) => row.id));
    // Older rows stay where they join the new page without a gap.
    const joins = this.earlier < offset && offset <= this.earlier + known.size;
    const older = joins ? this.rows.filter((row) => row.id && !ids.has(row.id)) : [];
    const unsent = this.rows.filter((row) => row.role !== "assistant" && !row.id);
    if (!older.length) this.earlier = offset;
    this.rows = [...older, ...fresh, ...unsent];
    for (const row of fresh) {
      row.edited = this.#edited.has(row.id);
      // A reply that came since the figures were read has a turn that they do not know.
      if (!known.has(row.id)) row.figures = isFirst ? this.#figuresOf(row.id) : undefined;
      row.files ??= this.#files.get(row.id);
    }
    this.#emit("rows");
    for (const row of fresh) if (known.has(row.id)) this.#emit("row", row);
  }

  /** How much a stored reply recalled and remembered; null where it has no turn, undefined where that is not known. */
  #figuresOf(id) {
    return this.#figures.get(id) ?? (this.#knowsAllTurns ? null : undefined);
  }

  /** Whether a reply was made here, so that there is a turn to look into and to repeat: an imported one was not. */
  hasTurn(row) {
    return Boolean(row.turn) || (row.turn === undefined && row.figures !== null);
  }

  /** Load the page before the first row. Called again meanwhile, it waits for the same one. */
  loadOlder(limit = PAGE) {
    if (!this.earlier || this.state !== "ready") return Promise.resolve();
    this.#loadingOlder ??= this.#fetchOlder(limit).finally(() => (this.#loadingOlder = null));
    return this.#loadingOlder;
  }

  async #fetchOlder(limit) {
    const offset = Math.max(0, this.earlier - limit);
    const page = await api.listMessages(this.id, { limit: this.earlier - offset, offset });
    const older = page.results.map((message) => {
      const known = { figures: this.#figuresOf(message.id), files: this.#files.get(message.id) };
      return assignMessage(newRow(known), message);
    });
    this.rows = [...older, ...this.rows];
    this.#markEdited();
    this.earlier = offset;
    this.#emit("rows");
  }

  async loadAll() {
    while (this.earlier) await this.loadOlder(ALL);
  }

  /** Load as far back as this message; returns its row, or null where the conversation does not have it. */
  async loadThrough(id) {
    const find = () => this.rows.find((row) => row.id === id) ?? null;
    while (!find() && this.earlier && this.state === "ready") await this.loadOlder(ALL);
    return find();
  }

  /** Say something: the message, then the reply as it streams. Problems end up in the row, not as exceptions. */
  send(content, files = []) {
    const row = newRow({ role: "user", content, files, status: "sending", key: newKey() });
    this.#files.delete(null);
    this.rows.push(row);
    this.#emit("rows");
    return this.#deliver(row);
  }

  /** Submit `{title, fields}`; the assistant continues with it (H1). */
  submitForm(form) {
    const row = newRow({ role: "form", form, status: "sending", key: newKey() });
    this.rows.push(row);
    this.#emit("rows");
    return this.#deliver(row);
  }

  /** Try again: a message that never arrived, with its old key, or the turn of one that failed. */
  retry(row) {
    row.error = null;
    if (row.status === "failed") return this.#run(row, () => this.#follow(row, api.streamRetry(row.id)));
    return this.#deliver(row);
  }

  /** Stop the replies under way; what has come of them is kept. */
  async stop() {
    const waiting = this.rows.filter((row) => row.role === "user" && ["sending", "pending"].includes(row.status));
    await Promise.all(waiting.map((row) => this.#stopReplyTo(row)));
  }

  async #stopReplyTo(row) {
    if (row.status === "sending") await this.#sent(row); // until then there is nothing to stop
    if (row.status === "pending") await api.stopReply(row.id);
  }

  /** Wait until the server has taken a message, or it turns out that it has not. */
  #sent(row) {
    return new Promise((resolve) => {
      const onRow = ({ detail }) => {
        if (detail !== row || row.status === "sending") return;
        this.removeEventListener("row", onRow);
        resolve();
      };
      this.addEventListener("row", onRow);
    });
  }

  /** Have another model answer from now on; "" is the default one. What the server refuses leaves it as it was. */
  async setModel(name) {
    const before = this.model;
    this.model = name;
    this.#choosing = this.#storeModel(name);
    try {
      await this.#choosing;
    } catch (error) {
      this.model = before;
      throw error;
    } finally {
      this.#emit("session");
    }
  }

  /** What is said after a choice is for the model chosen. A failure was reported to whoever chose. */
  async #settleChoice() {
    await this.#choosing?.catch(() => {});
  }

  async #storeModel(name) {
    await this.#creating; // with the model before
    if (this.id) await changeSession(this.id, { model: name });
  }

  /** Pause what is remembered of this conversation, or resume it. What is said after it is said under it. */
  async setPaused(paused) {
    if (!this.id && !this.#creating) {
      this.chosenPause = paused;
      return;
    }
    this.#choosing = this.#storePause(paused);
    try {
      await this.#choosing;
    } finally {
      this.#emit("session");
    }
  }

  async #storePause(paused) {
    await this.#creating;
    await changeSession(this.id, { paused });
  }

  /** Whether this is the newest reply, and nothing is on its way. */
  canRegenerate(row) {
    const at = this.rows.indexOf(row);
    const answers = row.role === "assistant" && at === this.rows.length - 1 && this.rows[at - 1]?.role === "user";
    return !this.busy && answers && this.hasTurn(row);
  }

  /** Get another reply in the place of the newest one, which comes back where that fails. */
  async regenerate(reply) {
    const row = this.rows[this.rows.indexOf(reply) - 1];
    this.rows = this.rows.filter((other) => other !== reply);
    this.#setBusy(true);
    try {
      await this.#follow(row, api.streamRegenerate(reply.id));
    } catch (error) {
      row.status = "complete";
      if (!this.rows.includes(reply)) this.rows.splice(this.rows.indexOf(row) + 1, 0, reply);
      this.#emit("rows");
      this.#emit("row", row);
      throw error;
    } finally {
      this.#setBusy(false);
    }
  }

  /** Say a message differently: it and all after it give way. What the server refuses leaves everything as it was. */
  async edit(row, content) {
    const before = this.rows;
    const edited = newRow({ role: "user", content, files: row.files, status: "sending" });
    this.rows = [...before.slice(0, before.indexOf(row)), edited];
    this.#setBusy(true);
    this.#emit("rows");
    try {
      await this.#follow(edited, api.streamEdit(row.id, content));
    } catch (error) {
      if (edited.id) {
        this.#fail(edited, error);
      } else {
        this.rows = before;
        this.#emit("rows");
        throw error;
      }
    } finally {
      if (edited.id) this.#edited.add(edited.id);
      this.#markEdited();
      this.#setBusy(false);
    }
  }

  /** Bring back what an edited message took the place of. */
  async undoEdit(row) {
    await api.undoEdit(row.id);
    this.rows = this.rows.slice(0, this.rows.indexOf(row)).filter((other) => other.id);
    await this.load();
  }

  #markEdited() {
    for (const row of this.rows) {
      const edited = this.#edited.has(row.id);
      if (Boolean(row.edited) === edited) continue;
      row.edited = edited;
      this.#emit("row", row);
    }
  }

  /** Take back a message that was not sent. */
  discard(row) {
    this.rows = this.rows.filter((other) => other !== row);
    this.#emit("rows");
  }

  async setFavourite(row, value) {
    row.favourite = value;
    this.#emit("row", row);
    try {
      assignMessage(row, await api.setFavourite(row.id, value));
    } catch (error) {
      row.favourite = !value;
      throw error;
    } finally {
      this.#emit("row", row);
    }
  }

  /** Return what happened in the turn of a stored reply, or null where nothing is recorded (an imported one). */
  async loadTurn(row) {
    if (row.turn === undefined) {
      row.loading ??= api.getTurn(row.id).finally(() => (row.loading = null));
      const turn = await row.loading.catch((error) => {
        if (error.status === 404) return null;
        throw error;
      });
      if (row.turn === undefined) {
        row.turn = turn;
        this.#emit("turn", row);
        this.#loadChanges(row);
      }
    }
    return row.turn;
  }

  /** Learn what the turn of a reply put in the place of what. Without it the reply is complete, so a failure is let pass. */
  async #loadChanges(row) {
    if (!row.turn?.user_message || !row.turn.memory_updates.some(({ action }) => action === "superseded")) return;
    try {
      const page = await api.listChanges({ message_id: row.turn.user_message.id, kind: "long_term" });
      row.changes = readChanges(page.results);
    } catch (error) {
      if (error instanceof ApiError || error instanceof NetworkError) return;
      throw error;
    }
    this.#emit("row", row);
  }

  /** Undo one of `row.changes`. */
  async undoChange(row, change) {
    await api.undo(change.operation);
    change.undone = true;
    this.#emit("row", row);
  }

  /** Undo what a message told the memory to do (L7). */
  async undoCommand(row, command) {
    await api.undo(command.operation);
    command.status = "undone";
    this.#emit("turn", row);
  }

  /** Forget a memory that a message may have meant (L9). */
  async forgetCandidate(row, memory) {
    row.turn = { ...row.turn, ...(await api.forgetCandidate(row.id, memory.id)) };
    this.#emit("turn", row);
  }

  /** Create the session, unless there is one; return its ID. */
  async ensureSession() {
    if (!this.id) {
      this.#creating ??= createSession({ temporary: this.temporary, model: this.model, space: this.space, paused: this.paused });
      try {
        this.id = (await this.#creating).id;
      } finally {
        this.#creating = null;
      }
      this.#emit("session");
    }
    return this.id;
  }

  #deliver(row) {
    return this.#run(row, async () => {
      await this.ensureSession();
      if (row.role === "form") await this.#sendForm(row);
      else await this.#follow(row, api.streamTurn(this.id, { content: row.content, attachments: row.files?.map(({ id }) => id) }, row.key));
    });
  }

  async #run(row, work) {
    row.status = row.id ? "pending" : "sending";
    this.#setBusy(true);
    this.#emit("row", row);
    try {
      await work();
      this.state = "ready";
    } catch (error) {
      if (error.status === 409) await this.#reload(row);
      else this.#fail(row, error);
    }
    this.#setBusy(false);
    if (this.id) await this.#refreshSession();
  }

  /** The server is further than we knew: the message is there already, or answered. What it has counts. */
  async #reload(row) {
    if (!row.id) this.discard(row);
    await this.load();
  }

  async #follow(row, events) {
    const reply = this.#addReply(row);
    let started = false;
    await this.#settleChoice();
    try {
      for await (const { name, data } of events) {
        if (name === "start") {
          started = true;
          assignMessage(row, data.user_message);
          this.#emit("row", row);
          if (!this.session?.title) this.#refreshSession(); // the first message gives the session its title
        } else if (name === "delta") {
          reply.content += data.text;
          this.#emit("delta", reply);
        } else if (name === "done") {
          this.#finish(row, reply, data);
          return;
        } else if (name === "error") {
          throw new ApiError(503, data.error ?? data);
        }
      }
      throw new NetworkError(); // the stream ended and nobody said how
    } catch (error) {
      this.discard(reply);
      if (!(error instanceof NetworkError) || !started) throw error;
      await this.#awaitReply(row); // the server finishes what it began, and stores it (C6)
    }
  }

  async #sendForm(row) {
    const reply = this.#addReply(row);
    await this.#settleChoice();
    try {
      const turn = await api.submitForm(this.id, row.form, row.key);
      assignMessage(reply, turn.assistant_message);
      row.status = "complete";
      this.#emit("row", row);
      this.#emit("row", reply);
      await this.loadTurn(reply);
    } catch (error) {
      if (!reply.id) this.discard(reply);
      throw error;
    }
  }

  #addReply(row) {
    const reply = newRow({ role: "assistant", status: "streaming" });
    this.rows.splice(this.rows.indexOf(row) + 1, 0, reply);
    this.#emit("rows");
    return reply;
  }

  #finish(row, reply, turn) {
    if (turn.user_message) assignMessage(row, turn.user_message);
    assignMessage(reply, turn.assistant_message);
    reply.turn = turn;
    this.#emit("row", row);
    this.#emit("row", reply);
    this.#emit("turn", reply);
    this.#loadChanges(reply);
  }

  /** The reply is being made, out of our sight: look now and then until it is stored or has failed. */
  async #awaitReply(row) {
    this.#setBusy(true);
    row.status = "pending";
    this.#emit("row", row);
    try {
      while (row.status === "pending") {
        await pause(POLL_MILLISECONDS);
        await this.#loadNewest().catch((error) => {
          if (!(error instanceof NetworkError)) throw error; // offline: keep looking
        });
      }
    } finally {
      this.#setBusy(false);
    }
  }

  #fail(row, error) {
    // With a message_id the server has the message and could not answer it; without one it has nothing.
    const stored = error.fields?.message_id ?? (row.role === "user" ? row.id : null);
    row.id = stored;
    row.status = stored ? "failed" : "unsent";
    row.error = error.message;
    if (!(error instanceof ApiError || error instanceof NetworkError)) {
      row.error = gettext("Something went wrong on this page.");
      console.error(error);
    }
    this.#emit("rows");
    this.#emit("row", row);
  }

  /** Learn the session's title and last activity. Without them everything works, so a failure is let pass. */
  async #refreshSession() {
    try {
      await readSession(this.id);
    } catch (error) {
      if (error instanceof ApiError || error instanceof NetworkError) return;
      throw error;
    }
    this.#emit("session");
  }

  #setState(state) {
    this.state = state;
    this.#emit("state");
  }

  #setBusy(busy) {
    this.#underWay += busy ? 1 : -1;
    this.#emit("state");
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

/** Pair what ended with what took its place, of the changes of one message. */
function readChanges(changes) {
  return changes
    .filter(({ action, before, after }) => action === "supersede" && before && after)
    .map(({ before, after, operation, undone_by: undone }) => {
      const successor = changes.find(({ object_id: id }) => id === after.superseded_by);
      return { key: before.key, before: before.value, after: successor?.after?.value, operation, undone: Boolean(undone) };
    })
    .filter((change) => change.after !== undefined);
}

function groupByMessage(files) {
  const groups = new Map();
  for (const file of files) groups.set(file.message_id, [...(groups.get(file.message_id) ?? []), file]);
  return groups;
}

function newRow(values = {}) {
  return { id: null, content: "", createTime: new Date(), favourite: false, error: null, ...values };
}

function assignMessage(row, message) {
  return Object.assign(row, {
    id: message.id,
    role: message.role,
    content: message.content,
    status: message.status,
    createTime: new Date(message.create_time),
    favourite: message.is_collected,
    stopped: message.stopped,
    pausedBy: message.paused_by,
    notRemembered: message.not_remembered ?? [],
    secrets: message.secrets,
  });
}

function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
