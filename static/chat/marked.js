// Text with the words of a search marked in it.

import { el } from "./dom.js";

/** Return the nodes of `text`; `ranges` count characters as the API does, not UTF-16 as JavaScript. */
export function marked(text, ranges) {
  const characters = [...text];
  const nodes = [];
  let end = 0;
  for (const [start, stop] of ranges) {
    nodes.push(characters.slice(end, start).join(""), el("mark", {}, characters.slice(start, stop).join("")));
    end = stop;
  }
  return [...nodes, characters.slice(end).join("")].filter((node) => node !== "");
}
