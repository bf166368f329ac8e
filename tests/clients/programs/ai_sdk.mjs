// The AI SDK with its provider for OpenAI (which asks /v1/responses) and the one for servers like it (chat completions).

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(`${process.cwd()}/package.json`);
const load = async (name) => import(pathToFileURL(packages.resolve(name)).href);
const { generateText, streamText, tool, stepCountIs, embedMany, Output } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { z } = await load("zod");

const given = JSON.parse(readFileSync(0, "utf8"));
const openai = createOpenAI({ baseURL: given.base_url, apiKey: given.token });
const compatible = createOpenAICompatible({
  name: "jiyi",
  baseURL: given.base_url,
  apiKey: given.token,
  includeUsage: true,
});
const models = { openai: openai(given.model), chat: openai.chat(given.model), compatible: compatible(given.model) };
const limit = { maxOutputTokens: given.max_tokens, maxRetries: 0 };
const weather = tool({
  description: "The weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city}: sunny`,
});

const found = {};
for (const [name, model] of Object.entries(models)) {
  const whole = await generateText({ model, prompt: given.text, ...limit });
  const messages = [
    { role: "user", content: given.text },
    { role: "assistant", content: whole.text },
    { role: "user", content: "And then?" },
  ];
  const errors = [];
  const streamed = streamText({ model, messages, ...limit, onError: ({ error }) => errors.push(String(error)) });
  const pieces = [];
  for await (const piece of streamed.textStream) pieces.push(piece);
  found[name] = {
    text: whole.text,
    usage: whole.usage.totalTokens,
    finishReason: whole.finishReason,
    session: whole.response.headers["x-session-id"],
    pieces,
    errors,
    streamUsage: (await streamed.usage).totalTokens,
    streamSession: (await streamed.response).headers["x-session-id"],
    warnings: whole.warnings,
  };
  if (given.tools) {
    const equipped = { model, tools: { get_weather: weather }, stopWhen: stepCountIs(3), maxRetries: 0 };
    const called = await generateText({ ...equipped, prompt: "How is the weather in Qingdao?" });
    const stream = streamText({ ...equipped, prompt: "How is the weather in Qingdao?" });
    found[name].tools = {
      calls: called.steps.flatMap((step) => step.toolCalls.map((call) => [call.toolName, call.input])),
      text: called.text,
      streamed: await stream.text,
    };
    const trip = await generateText({
      model,
      output: Output.object({ schema: z.object({ city: z.string(), days: z.number() }) }),
      prompt: "Two days in Qingdao, please.",
      maxRetries: 0,
    });
    found[name].trip = trip.output;
  }
}
const embedder = openai.embedding("text-embedding-3-small");
const { embeddings } = await embedMany({ model: embedder, values: ["虾", "shrimp"], maxRetries: 0 });
found.vectors = embeddings.map((vector) => vector.length);
try {
  const stranger = createOpenAI({ baseURL: given.base_url, apiKey: "wrong" });
  await generateText({ model: stranger(given.model), prompt: "Hello", maxRetries: 0 });
} catch (error) {
  found.refused = { name: error.name, status: error.statusCode, message: error.message };
}
console.log(JSON.stringify(found));
