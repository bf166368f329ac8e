// Server-sent events (HTML standard, section 9.2), from the bytes of a stream.

export interface ServerEvent {
  event: string;
  /** JSON, decoded. */
  data: unknown;
}

// Only these end a line: JSON may hold U+2028 and the like as they are. A CR at the end may be half of a CRLF.
const LINE_END = /\r\n|\n|\r(?!$)/;

/** Yield each event as it is complete. A caller that stops early closes the connection. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent, void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let event = "message";
  let data: string[] = [];
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      const lines = (rest + decoder.decode(piece.value, { stream: true })).split(LINE_END);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
          [event, data] = ["message", []];
        } else if (line.startsWith("event:")) event = line.slice(6).trimStart();
        else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
      }
    }
  } finally {
    await reader.cancel();
  }
}
