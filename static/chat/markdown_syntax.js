// Markdown as chat models write it, by way of marked: what differs from GitHub's Markdown, and math.
// Everything is rendered as plain HTML without any of the reply's own markup, and sanitized afterwards (markdown.js).

import { Marked, Renderer, Tokenizer } from "../vendor/marked/marked.esm.js";

const DEEPEST = 8; // quotes and lists inside each other, so that no input can nest without end
const LONGEST_EMPHASIS = 500; // characters
const WEB_ADDRESS = /^(?:https?:\/\/|mailto:)[^\s]/i;
const AFTER_ADDRESS = /[\s<>"'`（）《》「」【】，。；：！？、]/;

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]);

class ReplyTokenizer extends Tokenizer {
  #depth = 0;

  /** Read a block that contains blocks, unless it lies too deep: then its marks stay text. */
  #nested(read) {
    if (this.#depth >= DEEPEST) return undefined;
    this.#depth += 1;
    try {
      return read();
    } finally {
      this.#depth -= 1;
    }
  }

  blockquote(source) {
    return this.#nested(() => super.blockquote(source));
  }

  list(source) {
    return this.#nested(() => super.list(source));
  }

  /** Markup in a reply is text. */
  html() {}

  tag() {}

  /** One or two dashes below a line are the start of a list or a rule that is still being written. */
  lheading(source) {
    const token = super.lheading(source);
    return token && /\n {0,3}[-=]{3,}[ \t]*\n*$/.test(token.raw) ? token : undefined;
  }

  /** Indented text is text: models fence their code. */
  code() {}

  emStrong(source, masked, before) {
    return super.emStrong(...this.#nearby(source, masked), before);
  }

  /** "5~10 元，20~30 元" strikes nothing out. */
  del(source, masked, before) {
    return source.startsWith("~~") ? super.del(...this.#nearby(source, masked), before) : undefined;
  }

  /** As much text as emphasis may hold: looking for the end of each mark in all of it takes seconds in a hostile reply. */
  #nearby(source, masked) {
    return [source.slice(0, LONGEST_EMPHASIS), masked.slice(masked.length - source.length).slice(0, LONGEST_EMPHASIS)];
  }

  /** A bare address ends where Chinese punctuation begins. */
  url(source) {
    const end = source.search(AFTER_ADDRESS);
    return super.url(end < 0 ? source : source.slice(0, end));
  }
}

class ReplyRenderer extends Renderer {
  heading({ tokens, depth }) {
    // All of one level below the page's own headings, so that a reply does not disturb its outline.
    return `<p class="heading heading-${depth}" role="heading" aria-level="4" dir="auto">${this.parser.parseInline(tokens)}</p>`;
  }

  paragraph({ tokens }) {
    return `<p dir="auto">${this.parser.parseInline(tokens)}</p>`;
  }

  listitem(item) {
    return `<li${item.task ? ' class="task"' : ""} dir="auto">${this.parser.parse(item.tokens)}</li>`;
  }

  checkbox({ checked }) {
    return `<span class="checkbox${checked ? " checked" : ""}"></span>`;
  }

  tablecell({ tokens, header, align }) {
    const tag = header ? "th" : "td";
    return `<${tag}${align ? ` class="${align}"` : ""} dir="auto">${this.parser.parseInline(tokens)}</${tag}>`;
  }

  code({ text, lang }) {
    const [language] = (lang ?? "").trim().split(/\s/);
    return `<pre><code data-language="${escape(language)}">${escape(text)}</code></pre>`;
  }

  def({ raw }) {
    return `<p dir="auto">${marked.parseInline(raw.trim())}</p>`;
  }

  codespan({ text }) {
    return `<code>${escape(text)}</code>`;
  }

  link({ href, tokens, raw }) {
    return WEB_ADDRESS.test(href) ? `<a href="${escape(href)}">${this.parser.parseInline(tokens)}</a>` : escape(raw);
  }

  /** Loading a picture would tell its server who reads the reply, so it is a link. */
  image({ href, text, raw }) {
    return WEB_ADDRESS.test(href) ? `<a href="${escape(href)}">${escape(text || href)}</a>` : escape(raw);
  }
}

/** Emphasis beside Chinese letters: "**重点：**内容" is bold, which CommonMark's rules for spaces and punctuation prevent. */
const strongBesidePunctuation = {
  name: "strongBesidePunctuation",
  level: "inline",
  start: (source) => source.indexOf("**"),
  tokenizer(source) {
    const match = /^\*\*(?![\s*])((?:`[^`\n]*`|[^*`\n]|\*(?!\*)){0,500}[^\s*`])\*\*(?!\*)/.exec(source);
    if (!match || !/^[\p{P}\p{S}]|[\p{P}\p{S}]$/u.test(match[1])) return undefined;
    return { type: "strong", raw: match[0], text: match[1], tokens: this.lexer.inlineTokens(match[1]) };
  },
};

// No math goes beyond a blank line.
const BLOCK_MATH =
  /^ {0,3}(?:\$\$((?:\\[^]|[^$\\\n]|\n(?![ \t]*\n)){1,2000}?)\$\$|\\\[((?:[^\n]|\n(?![ \t]*\n)){1,2000}?)\\\])[ \t]*(?:\n+|$)/;
const INLINE_MATH = [
  /^\$\$((?:\\[^]|[^$\\]){1,500}?)\$\$/,
  /^\\\[([^]{1,500}?)\\\]/,
  /^\\\(([^]{1,500}?)\\\)/,
  // One dollar is money more often than math: nothing may be loose inside it, and no word or number may follow.
  /^\$(?![\s$])((?:\\[^\n]|[^$\\`\n]){0,500}?(?:\\[^\n]|[^$\\`\s]))\$(?![\w$])/,
];
const PROSE = /^\d[\d.,]*\s+\p{L}{2,}|\p{Script=Han}/u; // as in "from $5 to US$" and "$5 美元到$"

function mathToken(type, raw, tex, display) {
  return tex.trim() ? { type, raw, tex: tex.trim(), display } : undefined;
}

/** The source stays in the element, and stays visible if KaTeX cannot read it. */
function renderMath({ raw, tex, display }) {
  const kind = display ? "math display" : "math";
  return `<span class="${kind}" data-tex="${escape(tex)}">${escape(raw.trim())}</span>`;
}

const blockMath = {
  name: "blockMath",
  level: "block",
  start(source) {
    if (!source.includes("$$") && !source.includes("\\[")) return undefined;
    const found = /\n {0,3}(?:\$\$|\\\[)/.exec(source);
    return found ? found.index + 1 : undefined;
  },
  tokenizer(source) {
    const match = BLOCK_MATH.exec(source);
    return match ? mathToken("blockMath", match[0], match[1] ?? match[2], true) : undefined;
  },
  renderer: (token) => `<p>${renderMath(token)}</p>`,
};

const inlineMath = {
  name: "inlineMath",
  level: "inline",
  start(source) {
    const at = source.search(/\$|\\[([]/);
    return at < 0 ? undefined : at;
  },
  tokenizer(source) {
    for (const [index, pattern] of INLINE_MATH.entries()) {
      const match = pattern.exec(source);
      if (!match) continue;
      const dollar = index === INLINE_MATH.length - 1;
      if (dollar && PROSE.test(match[1]) && !match[1].includes("\\")) continue;
      return mathToken("inlineMath", match[0], match[1], index < 2);
    }
    return undefined;
  },
  renderer: renderMath,
};

const marked = new Marked();
marked.setOptions({ gfm: true, breaks: true, tokenizer: new ReplyTokenizer(), renderer: new ReplyRenderer() });
marked.use({ extensions: [strongBesidePunctuation, blockMath, inlineMath] });

/**
 * Return the top-level blocks of a text, `[{key, html}, …]`. Blocks with the same key look the same; `html()` renders one.
 */
export function readBlocks(text) {
  const tokens = marked.lexer(text);
  const definitions = Object.keys(tokens.links).length ? JSON.stringify(tokens.links) : "";
  return tokens
    .filter((token) => token.type !== "space" && !(token.type === "def" && isUsed(token, text)))
    .map((token) => ({
      key: (token.type === "code" ? token.raw : token.raw.trimEnd()) + (token.raw.includes("]") ? `\0${definitions}` : ""),
      html: () => marked.parser([token]),
    }));
}

/** Whether a link refers to this definition; a list of sources that nothing refers to would be lost otherwise. */
function isUsed({ tag }, text) {
  return text.toLowerCase().split(`[${tag}]`).length > 2;
}
