// Searching all conversations: words at once, what is similar in meaning when it comes.

import { api } from "./api.js";

const SHOWN = 3; // messages of one conversation
const LIMIT = 20;
const EVERYWHERE = { space: "all", limit: LIMIT };

/** Whether this is enough to search for: one letter of an alphabet is in every message. */
export function isSearchable(query) {
  return query.length > 1 || /[^\x00-\x7f]/.test(query);
}

/**
 * Yield what was found, `[{session, title_ranges, messages}]`: first by words, then with what is similar. That nothing
 * similar can be found is no problem; that nothing can be found is an exception.
 */
export async function* search(query) {
  const similar = api.search({ ...EVERYWHERE, q: query, mode: "meaning" }).catch(() => ({ results: [] }));
  const { results } = await api.search({ ...EVERYWHERE, q: query, mode: "words" });
  yield { found: results, complete: false };
  yield { found: merge(results, (await similar).results), complete: true };
}

/** What has the words stays in its place; the similar messages of a conversation stand below those that have them. */
function merge(byWords, byMeaning) {
  const merged = byWords.map((conversation) => ({ ...conversation, messages: [...conversation.messages] }));
  const known = new Map(merged.map((conversation) => [conversation.session.id, conversation]));
  for (const conversation of byMeaning) {
    const before = known.get(conversation.session.id);
    if (!before) {
      merged.push(conversation);
      continue;
    }
    const ids = new Set(before.messages.map(({ id }) => id));
    before.messages.push(...conversation.messages.filter(({ id }) => !ids.has(id)));
    before.messages.splice(SHOWN);
  }
  return merged.slice(0, LIMIT);
}
