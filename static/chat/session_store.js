// The sessions as the server last gave them. Answers overtake one another: what was asked for before a change was
// answered may be older than that change, whenever it arrives, and does not take its place.

import { ApiError, api } from "./api.js";

let clock = 0; // counts questions and answers
const newest = new Map(); // by ID: {session, asOf, changedAt}; session is null where it was deleted

/** Return a session as it is known here, or null. */
export function knownSession(id) {
  return newest.get(id)?.session ?? null;
}

/** Read a session; anew, if it was changed meanwhile. */
export async function readSession(id) {
  let asked;
  do {
    asked = ++clock;
    try {
      keep(id, await api.getSession(id), asked);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) keepChange(id, null);
      throw error;
    }
  } while (asked < newest.get(id).changedAt);
  return knownSession(id);
}

/** Read a page of sessions: `{count, results}`, the results as they are known now. */
export async function listSessions(query) {
  const asked = ++clock;
  const page = await api.listSessions(query);
  for (const session of page.results) keep(session.id, session, asked);
  return { ...page, results: page.results.map(({ id }) => knownSession(id)).filter(Boolean) };
}

export async function createSession(body) {
  const session = await api.createSession(body);
  return keepChange(session.id, session);
}

export async function changeSession(id, changes) {
  return keepChange(id, await api.updateSession(id, changes));
}

export async function deleteSession(id) {
  await api.deleteSession(id);
  keepChange(id, null);
}

function keep(id, session, asOf) {
  const known = newest.get(id) ?? { asOf: 0, changedAt: 0 };
  if (asOf > known.asOf) newest.set(id, { ...known, session, asOf });
}

function keepChange(id, session) {
  clock += 1;
  newest.set(id, { session, asOf: clock, changedAt: clock });
  return session;
}
