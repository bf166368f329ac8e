// Which of the memories that stood in a prompt carried weight: what apps/chat/selectors.py says, which explains it.

const PART = 1 / 2;
const LEAST = 1 / 4;
const SCORED = ["atomic", "message"];

/** Return [those of `memories_used` that carried weight, the others], each in order. */
export function splitByWeight(memories) {
  const bestMatch = Math.max(0, ...memories.map(match));
  const bestLongTerm = Math.max(0, ...memories.filter((memory) => !isScored(memory)).map(match));
  const bestOf = (kind) => {
    const scores = memories.filter((memory) => memory.kind === kind).map(({ score }) => score);
    return scores.length ? Math.max(...scores) : 0;
  };
  const best = Object.fromEntries(SCORED.map((kind) => [kind, bestOf(kind)]));
  const weighs = (memory) =>
    isScored(memory)
      ? memory.score >= best[memory.kind] - (1 - PART) * Math.abs(best[memory.kind])
      : match(memory) >= Math.max(PART * bestLongTerm, LEAST * bestMatch);
  return [memories.filter(weighs), memories.filter((memory) => !weighs(memory))];
}

const isScored = ({ kind }) => SCORED.includes(kind);

function match(memory) {
  const { keyword_score: words = 0, semantic_score: meaning = 0 } = memory;
  return isScored(memory) ? meaning : Math.max(words, meaning);
}
