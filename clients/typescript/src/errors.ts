import type { components } from "./schema.js";

type Refusal = components["schemas"]["Error"]["error"];

/** The server refused a request. `code` is for programs and does not change; `message` is a sentence for people. */
export class JiyiError extends Error {
  override readonly name = "JiyiError";

  constructor(
    /** The HTTP status; 200 where a stream reports the error. */
    readonly status: number,
    readonly code: Refusal["code"],
    message: string,
    /** What is wrong with which field, or details such as `message_id`. */
    readonly fields: Refusal["fields"],
    /** The seconds to wait, if the server names them. */
    readonly retryAfter: number | undefined,
  ) {
    super(message);
  }
}

/** Return the error that an answer stands for; one without a code if it is not of the API, such as a proxy's page. */
export function readError(response: Response, body: unknown): JiyiError {
  const wait = response.headers.get("Retry-After");
  const error = (body as { error?: Partial<Refusal> } | undefined)?.error;
  return new JiyiError(
    response.status,
    error?.code ?? "",
    error?.message ?? `The server answered ${response.status}, not in the API's format.`,
    error?.fields ?? {},
    wait === null ? undefined : Number(wait),
  );
}
