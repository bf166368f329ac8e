// Which of the memories that stood in a prompt carried weight: what apps/chat/weight.py says, which explains it.

const PART = 1 / 2;
const LEAST = 1 / 4;

/** Return [those of `memories_used` that carried weight, the others], each in order. */
export function splitByWeight(memories) {
  const bestMatch = Math.max(0, ...memories.map(match));
  const bestLongTerm = Math.max(0, ...memories.filter((memory) => !isAtomic(memory)).map(match));
  const scores = memories.filter(isAtomic).map(({ score }) => score);
  const bestScore = scores.length ? Math.max(...scores) : 0;
  const weighs = (memory) =>
    isAtomic(memory)
      ? memory.score >= bestScore - (1 - PART) * Math.abs(bestScore)
      : match(memory) >= Math.max(PART * bestLongTerm, LEAST * bestMatch);
  return [memories.filter(weighs), memories.filter((memory) => !weighs(memory))];
}

const isAtomic = ({ kind }) => kind === "atomic";

function match(memory) {
  const { keyword_score: words = 0, semantic_score: meaning = 0 } = memory;
  return isAtomic(memory) ? meaning : Math.max(words, meaning);
}
