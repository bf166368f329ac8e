// A program that is written against our TypeScript client: it has to type-check as it is, and to work. Prints what it
// found, by name.

import { readFileSync } from "node:fs";
import { Jiyi, JiyiError, type components, type TurnEvent } from "jiyi-client";

type Memory = components["schemas"]["LongTermMemory"];

const given: { url: string; token: string } = JSON.parse(readFileSync(0, "utf8"));
const jiyi = new Jiyi(given);
const TEXT = "Remember that Anna is vegetarian.";

const refusal = async (asked: Promise<unknown>) => {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof JiyiError ? [error.status, error.code, error.fields] : [String(error)];
};

// The same key, the same session; the same message, once.
const session = await jiyi.startSession({ title: "周五" }, { idempotencyKey: "friday" });
const again = await jiyi.startSession({}, { idempotencyKey: "friday" });
const turn = await jiyi.send(session.id, TEXT, { idempotencyKey: "one" });
const repeated = await jiyi.send(session.id, TEXT, { idempotencyKey: "one" });

const events: TurnEvent[] = [];
for await (const event of jiyi.stream(session.id, "你好\u2028！")) events.push(event);
const [first] = events;
const last = events.at(-1);
if (first?.event !== "start" || last?.event !== "done") throw new Error("no start, or no end");
const pieces = events.flatMap((event) => (event.event === "delta" ? [event.text] : []));

// Who stops listening ends the waiting, and nothing else.
for await (const event of jiyi.stream(session.id, "And now?")) if (event.event === "start") break;

const elsewhere = await jiyi.startSession();
const said = [{ role: "user" as const, content: "I moved to York." }];
const stored = [await jiyi.record(elsewhere.id, said, { idempotencyKey: "r" }), await jiyi.record(elsewhere.id, said)];

const memory: Memory = await jiyi.ok(
  jiyi.api.POST("/memory/long-term", { body: { category: "preference", key: "喜欢的颜色", value: "蓝色" } }),
);
const body = { content: "Anna's son is in York.", valid_until: "2030-12-01T00:00:00Z", sensitive: ["minors" as const] };
const visit = await jiyi.ok(jiyi.api.POST("/memory/atomic", { body }));
const quiet = await jiyi.startSession({ paused: true });
const tidyings = await jiyi.ok(jiyi.api.GET("/memory/tidyings"));
const webhook = { url: "https://assistant.example/hooks", events: ["memory.changed" as const] };
const { results } = await jiyi.ok(jiyi.api.GET("/memory/long-term", { params: { query: { limit: 10 } } }));
const path = { memory_id: "00000000-0000-0000-0000-000000000000" };

// What the API refuses does not compile.
// @ts-expect-error: no such category
await jiyi.api.POST("/memory/long-term", { body: { category: "whim", key: "k", value: "v" } });
// @ts-expect-error: no such field
const refused = jiyi.api.POST("/memory/long-term", { body: { category: "fact", key: "k", vlaue: "v" } });

console.log(
  JSON.stringify({
    title: session.title,
    same: [again.id === session.id, repeated.user_message?.id === turn.user_message?.id],
    reply: turn.assistant_message.content,
    commands: turn.commands.flatMap((command) => command.texts),
    asked: first.user_message.content,
    whole: pieces.join("") === last.turn.assistant_message.content,
    stored,
    status: memory.status,
    keys: results.map(({ key }) => key),
    visit: [visit.valid_until, visit.sensitive],
    paused: [quiet.paused_by, session.paused_by],
    tidyings: tidyings.results.map((run) => run.state),
    recalled: await jiyi.recall(elsewhere.id, "我喜欢的颜色是什么？"),
    errors: {
      missing: await refusal(jiyi.ok(jiyi.api.GET("/memory/long-term/{memory_id}", { params: { path } }))),
      field: await refusal(jiyi.ok(refused)),
      key: await refusal(jiyi.send(session.id, "Something else", { idempotencyKey: "one" })),
      stream: await refusal(jiyi.stream(path.memory_id, "Hello").next()),
      webhook: await refusal(jiyi.ok(jiyi.api.POST("/webhooks", { body: webhook }))),
      token: await refusal(new Jiyi({ ...given, token: "wrong" }).startSession()),
    },
  }),
);
