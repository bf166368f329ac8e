// The part of Markdown that chat models write, as DOM nodes: paragraphs, headings, lists, quotes, code, bold, italics,
// links. Everything else, markup above all, is text. Nothing is ever parsed as HTML.

import { el } from "./dom.js";

const FENCE = /^\s{0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/;
const HEADING = /^\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const RULE = /^\s{0,3}([-*_])(?:\s*\1){2,}\s*$/;
const DEEPEST = 8;

/** A container whose blocks follow a growing text: blocks that did not change keep their nodes (and selections). */
export class MarkdownView {
  #sources = [];

  constructor(container) {
    this.container = container;
  }

  update(text) {
    const blocks = splitBlocks(text);
    let same = 0;
    while (same < blocks.length && this.#sources[same] === blocks[same].join("\n")) same += 1;
    while (this.container.childNodes.length > same) this.container.lastChild.remove();
    this.container.append(...blocks.slice(same).map((lines) => renderBlock(lines, 0)));
    this.#sources = blocks.map((lines) => lines.join("\n"));
  }
}

/** Return the lines of each block: fences whole, lists with their items, paragraphs between blank lines. */
function splitBlocks(text) {
  const blocks = [];
  let current = null;
  let fence = null;
  const open = (kind, line) => blocks.push((current = Object.assign([line], { kind })));
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    if (fence) {
      current.push(line);
      const end = line.match(/^\s{0,3}(`{3,}|~{3,})\s*$/);
      if (end && end[1][0] === fence[0] && end[1].length >= fence.length) fence = current = null;
      continue;
    }
    const opening = line.match(FENCE);
    if (opening && !(current?.kind === "list" && /^\s/.test(line))) {
      fence = opening[1];
      open("code", line);
    } else if (!line.trim()) {
      // A blank line ends a block, but a list goes on when the next line is an item or indented.
      if (current?.kind === "list") current.push(line);
      else current = null;
    } else if (RULE.test(line)) {
      open("rule", line);
      current = null;
    } else if (HEADING.test(line)) {
      open("heading", line);
      current = null;
    } else if (ITEM.test(line) || (current?.kind === "list" && /^\s{2,}/.test(line))) {
      if (current?.kind === "list") current.push(line);
      else open("list", line);
    } else if (QUOTE.test(line)) {
      if (current?.kind === "quote") current.push(line);
      else open("quote", line);
    } else if (current?.kind === "list" && !current.at(-1).trim()) {
      open("paragraph", line);
    } else if (current) {
      current.push(line);
    } else {
      open("paragraph", line);
    }
  }
  return blocks;
}

function renderBlock(lines, depth) {
  const { kind } = lines;
  if (kind === "code") return renderCode(lines);
  if (kind === "rule") return el("hr");
  if (kind === "heading") {
    return el("p", { class: "heading", role: "heading", "aria-level": 4 }, renderInline(lines[0].match(HEADING)[2]));
  }
  if (kind === "list") return renderList(lines, depth);
  if (kind === "quote") {
    const inner = lines.map((line) => line.match(QUOTE)?.[1] ?? line).join("\n");
    return el("blockquote", {}, renderNested(inner, depth));
  }
  return el("p", { dir: "auto" }, renderInline(lines.join("\n")));
}

/** Blocks inside a block; past a sane depth the text stands as it is, so no input can nest without end. */
function renderNested(text, depth) {
  if (depth >= DEEPEST) return [text];
  return splitBlocks(text).map((lines) => renderBlock(lines, depth + 1));
}

function renderCode(lines) {
  const closed = lines.length > 1 && /^\s{0,3}(`{3,}|~{3,})\s*$/.test(lines.at(-1));
  const name = lines[0].match(FENCE)[2];
  const code = lines.slice(1, closed ? -1 : undefined).join("\n");
  return el("pre", { tabindex: 0, "data-language": name || null }, el("code", {}, code));
}

function renderList(lines, depth) {
  const [, , marker] = lines[0].match(ITEM);
  const ordered = /\d/.test(marker);
  const indent = lines[0].match(ITEM)[1].length;
  const items = [];
  for (const line of lines) {
    const item = line.match(ITEM);
    if (item && item[1].length <= indent + 1) items.push([item[3]]);
    else items.at(-1).push(line.slice(Math.min(indent + 2, line.length - line.trimStart().length)));
  }
  const start = ordered ? Number.parseInt(marker, 10) : null;
  return el(ordered ? "ol" : "ul", { start: start === 1 ? null : start }, items.map((item) => renderItem(item, depth)));
}

function renderItem(lines, depth) {
  const text = lines.join("\n").trimEnd();
  if (depth >= DEEPEST) return el("li", { dir: "auto" }, text);
  const nodes = splitBlocks(text).map((block) => {
    if (block.kind !== "paragraph") return renderBlock(block, depth + 1);
    return el("span", { class: "item-text" }, renderInline(block.join("\n")));
  });
  return el("li", { dir: "auto" }, nodes);
}

// One alternative per construct, each bounded by what it may hold, so that no text makes it backtrack for long.
const INLINE = new RegExp(
  [
    /(?<ticks>`{1,3})(?<code>[^`]{1,4000})\k<ticks>(?!`)/,
    /\*\*(?<bold>[^*\n]{1,2000})\*\*/,
    /(?<![\p{L}\p{N}*_])(?<mark>[*_])(?<italic>[^*_\s](?:[^*_\n]{0,500}[^*_\s])?)\k<mark>(?![\p{L}\p{N}*_])/u,
    /\[(?<label>[^[\]\n]{1,500})\]\((?<address>https?:\/\/[^\s()<>]{1,2000}|mailto:[^\s()<>]{1,500})\)/,
    /(?<bare>https?:\/\/[^\s<>"'`（）《》「」，。；！？、]{1,2000})/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gu",
);

function renderInline(text) {
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    nodes.push(...renderLines(text.slice(end, match.index)), ...renderSpan(match.groups));
    end = match.index + match[0].length;
  }
  nodes.push(...renderLines(text.slice(end)));
  return nodes;
}

function renderSpan({ code, bold, italic, label, address, bare }) {
  if (code !== undefined) return [el("code", {}, code.trim() || code)];
  if (bold !== undefined) return [el("strong", {}, renderInline(bold))];
  if (italic !== undefined) return [el("em", {}, renderInline(italic))];
  if (address !== undefined) return [link(address, label)];
  const trimmed = bare.replace(/[).,;:!?\]*]+$/, ""); // punctuation that ends the sentence, not the address
  return [link(trimmed, trimmed), bare.slice(trimmed.length)];
}

function link(address, label) {
  return el("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow" }, label);
}

function renderLines(text) {
  return text.split("\n").flatMap((line, index) => (index ? [el("br"), line] : [line])).filter((part) => part !== "");
}
