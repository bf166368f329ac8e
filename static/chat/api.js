// The REST API as the page uses it: JSON in and out, one error shape, event streams, and the way to the log-in page.

import { gettext } from "./i18n.js";
import { readEvents } from "./sse.js";

// What went wrong, in the page's language, by the error's code. Where none of these fits, the server's own words do.
const CODES = {
  unauthenticated: gettext("You are logged out."),
  forbidden: gettext("This is not allowed. If you have just logged in, reload the page."),
  not_found: gettext("This item was deleted."),
  conflict: gettext("This has changed in the meantime. Reload the page to see the changes."),
  too_large: gettext("This is too long."),
  throttled: gettext("Too many requests. Try again later."),
  internal_error: gettext("Something went wrong on the server."),
  unavailable: gettext("The server is not ready at the moment. Try again."),
};

// Memories, by their kind in a turn.
const KIND_PATHS = { long_term: "long-term", atomic: "atomic" };

// Why a model did not answer; the server's own message is for whoever runs it.
const MODEL_REASONS = {
  timeout: gettext("The model took too long to answer."),
  rate_limited: gettext("The model is busy. Try again later."),
  server_error: gettext("The model server has a problem."),
  no_model: gettext("The model server provides no model."),
  refused: gettext("The model server refused the request."),
  dropped: gettext("The model’s reply was cut off."),
  unreachable: gettext("The model server cannot be reached."),
  cancelled: gettext("You stopped the reply before its first word."),
  bad_answer: gettext("The model gave no usable answer."),
};

/** The server answered with an error: `{"error": {code, message, fields}}`. */
export class ApiError extends Error {
  constructor(status, { code, message, fields } = {}) {
    super(MODEL_REASONS[fields?.reason] ?? CODES[code] ?? (message || gettext("The server returned an error.")));
    this.status = status;
    this.code = code ?? "unknown";
    this.fields = fields ?? {};
  }
}

/** No answer came: the network is gone, or the server is. */
export class NetworkError extends Error {
  constructor() {
    super(gettext("No connection to the server."));
  }
}

/** Return a new key for `Idempotency-Key`. (randomUUID would need HTTPS or localhost.) */
export function newKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function csrfToken() {
  return document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? "";
}

// What is on its way while somebody logs out is refused, and must not lead them back to where they were.
let loggingOut = false;
document.querySelector('form[action="/logout"]')?.addEventListener("submit", () => (loggingOut = true));

async function request(method, path, { body, form, query, key, accept = "application/json" } = {}) {
  const headers = { Accept: accept, "X-CSRFToken": csrfToken() };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  let response;
  try {
    response = await fetch(address, { method, headers, body: form ?? (body === undefined ? undefined : JSON.stringify(body)) });
  } catch {
    throw new NetworkError();
  }
  if (response.status === 401) {
    if (!loggingOut) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    throw new ApiError(401, { code: "unauthenticated" });
  }
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    throw new ApiError(response.status, answer.error);
  }
  return response;
}

/** Return a file as the body of a request, with other fields. */
function fileForm(file, fields = {}) {
  const form = new FormData();
  form.append("file", file);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

async function requestJson(method, path, options) {
  const response = await request(method, path, options);
  try {
    return await response.json();
  } catch {
    throw new NetworkError();
  }
}

/** POST and yield the events of the answer, `{name, data}`. A cut connection is a `NetworkError`. */
async function* stream(path, body, { key } = {}) {
  const response = await request("POST", path, { body: { ...body, stream: true }, key, accept: "text/event-stream" });
  try {
    yield* readEvents(response.body);
  } catch {
    throw new NetworkError();
  }
}

export const api = {
  listSessions: (query) => requestJson("GET", "/chat/sessions", { query }),
  search: (query) => requestJson("GET", "/chat/search", { query }),
  createSession: (body) => requestJson("POST", "/chat/sessions", { body }),
  getSession: (id) => requestJson("GET", `/chat/sessions/${id}`),
  updateSession: (id, changes) => requestJson("PATCH", `/chat/sessions/${id}`, { body: changes }),
  deleteSession: (id) => requestJson("DELETE", `/chat/sessions/${id}`),

  listSpaces: (query) => requestJson("GET", "/memory/spaces", { query }),
  createSpace: (body) => requestJson("POST", "/memory/spaces", { body }),
  updateSpace: (id, changes) => requestJson("PATCH", `/memory/spaces/${id}`, { body: changes }),

  listMessages: (id, query) => requestJson("GET", `/chat/sessions/${id}/messages`, { query }),
  streamTurn: (id, { content, attachments }, key) => stream(`/chat/sessions/${id}/messages`, { content, attachments }, { key }),
  listAttachments: (id) => requestJson("GET", `/chat/sessions/${id}/attachments`, { query: { limit: 100 } }),
  attachFile: (id, file) => requestJson("POST", `/chat/sessions/${id}/attachments`, { form: fileForm(file) }),
  deleteAttachment: (id) => requestJson("DELETE", `/chat/attachments/${id}`),
  streamRetry: (messageId) => stream(`/chat/messages/${messageId}/retry`, {}),
  streamRegenerate: (messageId) => stream(`/chat/messages/${messageId}/regenerate`, {}),
  streamEdit: (messageId, content) => stream(`/chat/messages/${messageId}/edit`, { content }),
  undoEdit: (messageId) => requestJson("POST", `/chat/messages/${messageId}/edit/undo`),
  listTurns: (id) => requestJson("GET", `/chat/sessions/${id}/turns`, { query: { limit: 200 } }),
  listChanges: (query) => requestJson("GET", "/memory/changes", { query: { limit: 200, ...query } }),
  listEdits: (id) => requestJson("GET", `/chat/sessions/${id}/edits`, { query: { limit: 200 } }),
  stopReply: (messageId) => requestJson("POST", `/chat/messages/${messageId}/stop`),
  setFavourite: (id, value) => requestJson("PATCH", `/chat/messages/${id}`, { body: { is_collected: value } }),
  getTurn: (messageId) => requestJson("GET", `/chat/messages/${messageId}/turn`),
  forgetCandidate: (messageId, memoryId) =>
    requestJson("POST", `/chat/messages/${messageId}/candidates/${memoryId}/forget`),
  getContext: (id, message) => requestJson("GET", `/chat/sessions/${id}/context`, { query: { message } }),
  submitForm: (id, form, key) => requestJson("POST", `/chat/sessions/${id}/hitl-forms`, { body: form, key }),

  getMemory: (id) => requestJson("GET", `/memory/long-term/${id}`),
  acceptMemory: (id) => requestJson("POST", `/memory/long-term/${id}/accept`, { body: {} }),
  rejectMemory: (id) => requestJson("POST", `/memory/long-term/${id}/reject`, { body: {} }),
  listCopies: (id) => requestJson("GET", `/memory/long-term/${id}/copies`),
  forgetMemory: (id, { copies }) => requestJson("DELETE", `/memory/long-term/${id}`, { query: { copies } }),
  isMuted: async (id, kind) => (await requestJson("GET", `/memory/${KIND_PATHS[kind]}/${id}`)).muted,
  setMuted: (id, kind, muted) => requestJson("PATCH", `/memory/${KIND_PATHS[kind]}/${id}`, { body: { muted } }),
  forgetAtomicMemory: (id) => requestJson("DELETE", `/memory/atomic/${id}`),
  undo: (operation) => requestJson("POST", `/memory/changes/${operation}/undo`),
  listLetters: (query) => requestJson("GET", "/memory/tidyings", { query }),
  markLetterSeen: (id) => requestJson("POST", `/memory/tidyings/${id}/seen`),
  listImports: (query) => requestJson("GET", "/memory/imports", { query }),
  getImport: (id) => requestJson("GET", `/memory/imports/${id}`),
  previewImport: (file) => requestJson("POST", "/memory/imports", { form: fileForm(file, { dry_run: "true" }) }),
  createImport: (file) => requestJson("POST", "/memory/imports", { form: fileForm(file) }),
  removeImport: (id) => requestJson("DELETE", `/memory/imports/${id}`),
  undoImport: (id) => requestJson("POST", `/memory/imports/${id}/undo`),
  updateSettings: (changes) => requestJson("PATCH", "/memory/settings", { body: changes }),
};
