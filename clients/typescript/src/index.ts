// A client of Jiyi's REST API: `api` has every operation, with types that are generated from the API's schema; the
// methods beside it are what a chat application needs most.

import createClient, { type Client } from "openapi-fetch";
import { JiyiError, readError } from "./errors.js";
import { readEvents } from "./events.js";
import type { components, paths } from "./schema.js";

export { JiyiError };
export type { components, paths };

type Schemas = components["schemas"];
export type Session = Schemas["Session"];
export type Message = Schemas["Message"];
export type Turn = Schemas["Turn"];
export type PastMessage = Schemas["RecordedMessageRequest"];

/** What comes of a streamed turn: first `start`, then the pieces of the reply, last `done`. */
export type TurnEvent =
  | { event: "start"; user_message: Message }
  | { event: "delta"; text: string }
  | { event: "done"; turn: Turn };

export interface Options {
  /** The server, such as `https://jiyi.example.org`. */
  url: string;
  token: string;
  /** With a service token: whom the requests are for. */
  endUser?: string;
  /** Name or ID of the space that the requests are in. */
  space?: string;
  /** Sends the requests; the platform's own by default. */
  fetch?: (request: Request) => Promise<Response>;
}

export interface RequestOptions {
  /** Makes a repeated request safe: with the same key it has the first outcome again, and nothing is stored twice. */
  idempotencyKey?: string;
  /** Ends the waiting. What the server has begun it finishes. */
  signal?: AbortSignal;
}

/** What openapi-fetch answers. */
type Answer<T> = { data?: T; error?: unknown; response: Response };

export class Jiyi {
  /** Every operation, typed. It does not throw what the server refuses: see `ok`. */
  readonly api: Client<paths>;

  constructor({ url, token, endUser, space, fetch }: Options) {
    const headers: Record<string, string> = { Authorization: `Bearer ${token}` };
    if (endUser !== undefined) headers["X-End-User"] = encodeURIComponent(endUser);
    if (space !== undefined) headers["X-Space"] = encodeURIComponent(space);
    this.api = createClient<paths>({ baseUrl: url.replace(/\/+$/, ""), headers, ...(fetch && { fetch }) });
  }

  /** Return what an operation of `api` answers. Throws `JiyiError` for what the server refuses. */
  async ok<T>(answer: Promise<Answer<T>>): Promise<T> {
    const { data, error, response } = await answer;
    if (!response.ok || data === undefined) throw readError(response, error);
    return data;
  }

  /** Start a session; with a key, return the session that was started with it. */
  startSession(body: Schemas["SessionRequest"] = {}, { idempotencyKey, signal }: RequestOptions = {}): Promise<Session> {
    const params = { header: makeKey(idempotencyKey) };
    return this.ok(this.api.POST("/chat/sessions", { params, body, signal: signal ?? null }));
  }

  /** Send a message and return the turn when its reply is complete. */
  async send(sessionId: string, content: string, options: RequestOptions = {}): Promise<Turn> {
    const turn = await this.ok(this.api.POST(MESSAGES, this.message(sessionId, content, options, false)));
    if (typeof turn === "string" || !("assistant_message" in turn)) throw new Error("The answer is not a turn.");
    return turn;
  }

  /** Send a message and yield its turn while the reply is written. Throws `JiyiError` where the reply fails. */
  async *stream(sessionId: string, content: string, options: RequestOptions = {}): AsyncGenerator<TurnEvent, void> {
    const request = { ...this.message(sessionId, content, options, true), parseAs: "stream" as const };
    const { error, response } = await this.api.POST(MESSAGES, request);
    if (!response.ok || response.body === null) throw readError(response, error);
    for await (const { event, data } of readEvents(response.body)) {
      if (event === "error") throw readError(response, data);
      if (event === "done") return yield { event, turn: data as Turn };
      if (event === "start" || event === "delta") yield { event, ...(data as object) } as TurnEvent;
    }
    throw new Error("The stream ended before the reply did. The server completes and stores it all the same.");
  }

  /** Record what was said elsewhere, in chronological order; return how many messages are stored. */
  async record(sessionId: string, messages: PastMessage[], options: RequestOptions = {}): Promise<number> {
    const params = { path: { session_id: sessionId }, header: makeKey(options.idempotencyKey) };
    const request = { params, body: { messages }, signal: options.signal ?? null };
    return (await this.ok(this.api.POST("/chat/sessions/{session_id}/turns", request))).stored;
  }

  /** Return what a message recalls, as text for a prompt: profile, current context, memories, summaries. */
  async recall(sessionId: string, message: string, { signal }: RequestOptions = {}): Promise<string> {
    const params = { path: { session_id: sessionId }, query: { message } };
    const request = { params, signal: signal ?? null };
    const { layers } = await this.ok(this.api.GET("/chat/sessions/{session_id}/context", request));
    const known = layers.filter(({ index, content }) => index >= 1 && index <= 4 && content);
    return known.map(({ content }) => content).join("\n\n");
  }

  private message(sessionId: string, content: string, { idempotencyKey, signal }: RequestOptions, stream: boolean) {
    const params = { path: { session_id: sessionId }, header: makeKey(idempotencyKey) };
    return { params, body: { content, stream }, signal: signal ?? null };
  }
}

const MESSAGES = "/chat/sessions/{session_id}/messages";

function makeKey(key: string | undefined) {
  return key === undefined ? {} : { "Idempotency-Key": key };
}
