// LibreChat's own package for chats and titles, used as its server does for a custom endpoint. Prints what came back.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { randomUUID } from "node:crypto";

const packages = createRequire(`${process.cwd()}/package.json`);
const load = async (name) => import(pathToFileURL(packages.resolve(name)).href);
const { Run, Providers } = await load("@librechat/agents");
const { HumanMessage, AIMessage } = await load("@langchain/core/messages");

const given = JSON.parse(readFileSync(0, "utf8"));
const connection = {
  model: given.model,
  apiKey: given.token,
  user: given.user,
  configuration: { baseURL: given.base_url, defaultHeaders: { "X-End-User": given.user } },
};

async function begin() {
  return Run.create({
    runId: randomUUID(),
    graphConfig: {
      type: "standard",
      instructions: "You are a helpful assistant.",
      llmConfig: { provider: Providers.OPENAI, streaming: true, ...connection },
    },
    returnContent: true,
  });
}

const messages = [];
const found = { replies: [], titles: {} };
for (const text of given.said) {
  messages.push(new HumanMessage(text));
  const run = await begin();
  const config = { configurable: { thread_id: given.user, user_id: given.user }, streamMode: "values", version: "v2" };
  const content = await run.processStream({ messages: [...messages] }, config);
  const reply = content.map((part) => part.text ?? "").join("");
  messages.push(new AIMessage(reply));
  found.replies.push(reply);
}
for (const titleMethod of ["completion", "structured"]) {
  const run = await begin();
  const { title } = await run.generateTitle({
    provider: Providers.OPENAI,
    inputText: given.said[0],
    contentParts: [{ type: "text", text: found.replies[0] }],
    clientOptions: connection,
    titleMethod,
  });
  found.titles[titleMethod] = title;
}
process.stdout.write(JSON.stringify(found), () => process.exit(0));
