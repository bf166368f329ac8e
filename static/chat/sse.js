// Reading server-sent events from a fetch body (HTML standard, section 9.2): EventSource cannot POST.

/** Yield `{name, data}` per event, `data` parsed from JSON. Throws when the connection is cut or data is no JSON. */
export async function* readEvents(body) {
  let name = "message";
  let data = [];
  for await (const line of readLines(body)) {
    if (line === "") {
      if (data.length) yield { name, data: JSON.parse(data.join("\n")) };
      name = "message";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
}

async function* readLines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      // A "\r" at the very end may be the first half of "\r\n": it waits for the next piece.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      yield* lines;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
