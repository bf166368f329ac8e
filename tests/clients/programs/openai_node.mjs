// The openai package on Node: ask, stream, tools, embeddings and responses. Prints what came back, by name.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const packages = createRequire(`${process.cwd()}/package.json`);
const load = async (name) => import(pathToFileURL(packages.resolve(name)).href);
const { default: OpenAI } = await load("openai");

const given = JSON.parse(readFileSync(0, "utf8"));
const client = new OpenAI({ baseURL: given.base_url, apiKey: given.token, maxRetries: 0 });
const models = await client.models.list();
const model = models.data[0].id;
const ask = { model, max_tokens: given.max_tokens, messages: [{ role: "user", content: given.text }] };

const { data: whole, response } = await client.chat.completions.create(ask).withResponse();
const session = response.headers.get("x-session-id");
const found = {
  node: process.version,
  session,
  whole: whole.choices[0].message.content,
  usage: whole.usage,
};

const stream = await client.chat.completions.create(
  { ...ask, stream: true, stream_options: { include_usage: true } },
  { headers: { "X-Session-Id": session } },
);
found.pieces = [];
for await (const chunk of stream) {
  found.pieces.push(chunk.choices[0]?.delta?.content ?? "");
  found.streamUsage = chunk.usage;
}

const embedded = await client.embeddings.create({ model: "text-embedding-3-small", input: ["虾", "shrimp"] });
found.vectors = embedded.data.map((item) => item.embedding.length);

const answered = await client.responses.create({ model, input: given.text, max_output_tokens: given.max_tokens });
found.response = answered.output_text;

if (given.tools) {
  const tool = {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a city.",
      parameters: { type: "object", properties: { city: { type: "string" } } },
      parse: JSON.parse,
      function: ({ city }) => `${city}: sunny`,
    },
  };
  const runner = client.chat.completions.runTools({ ...ask, tools: [tool], stream: true });
  found.toolText = await runner.finalContent();
  found.toolMessages = runner.messages.map((message) => message.role);
}

try {
  await client.withOptions({ apiKey: "wrong" }).models.list();
} catch (error) {
  found.refused = { kind: error.constructor.name, status: error.status, code: error.code, type: error.type };
}
console.log(JSON.stringify(found));
