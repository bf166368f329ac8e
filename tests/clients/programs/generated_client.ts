// A program that is written against the types that openapi-typescript generates: it has to type-check as it is, and to
// work. Prints what it found, by name.

import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./jiyi.mjs";

type Memory = components["schemas"]["LongTermMemory"];

const given: { url: string; token: string } = JSON.parse(readFileSync(0, "utf8"));
const client = createClient<paths>({
  baseUrl: given.url,
  headers: { Authorization: `Bearer ${given.token}` },
});

const session = await client.POST("/chat/sessions", { body: { title: "周五" } });
if (!session.data) throw new Error(session.error.error.message);
const path = { session_id: session.data.id };

const turn = await client.POST("/chat/sessions/{session_id}/messages", {
  params: { path, header: { "Idempotency-Key": "one" } },
  body: { content: "Remember that Anna is vegetarian.", stream: false },
});
if (!turn.data || typeof turn.data === "string" || !("assistant_message" in turn.data)) throw new Error("no turn");
const reply: string = turn.data.assistant_message.content;
const stored: string[] = turn.data.commands.flatMap((command) => command.texts);

const created = await client.POST("/memory/long-term", {
  body: { category: "preference", key: "喜欢的颜色", value: "蓝色" },
});
if (!created.data) throw new Error(created.error.error.code);
const memory: Memory = created.data;

const list = await client.GET("/memory/long-term", {
  params: { query: { category: "preference", ordering: "-created_at", limit: 10 } },
});
const keys: string[] = list.data?.results.map((found) => found.key) ?? [];

const missing = await client.GET("/memory/long-term/{memory_id}", {
  params: { path: { memory_id: "00000000-0000-0000-0000-000000000000" } },
});
const code: string | undefined = missing.error?.error.code;

// What the API refuses does not compile.
// @ts-expect-error: no such category
await client.POST("/memory/long-term", { body: { category: "whim", key: "k", value: "v" } });
// @ts-expect-error: no such field
const refused = await client.POST("/memory/long-term", { body: { category: "fact", key: "k", vlaue: "v" } });

console.log(
  JSON.stringify({
    title: session.data.title,
    reply,
    stored,
    status: memory.status,
    keys,
    code,
    refused: refused.error?.error.fields,
  }),
);
