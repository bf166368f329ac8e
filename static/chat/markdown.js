// Replies as elements: Markdown (markdown_syntax.js), sanitized, with highlighted code, math and tables that scroll.

import DOMPurify from "../vendor/dompurify/purify.es.mjs";
import { button, el, icon } from "./dom.js";
import { gettext } from "./i18n.js";
import { readBlocks } from "./markdown_syntax.js";

const SANITIZED = {
  USE_PROFILES: { mathMl: true },
  ADD_TAGS: "p br hr blockquote ul ol li strong em del code pre a span table thead tbody tr th td".split(" "),
  ADD_ATTR: ["class", "dir", "href", "start", "role", "aria-level", "data-language", "data-tex"],
  FORBID_ATTR: ["id", "style", "src"],
  ADD_URI_SAFE_ATTR: ["data-language", "data-tex"], // not addresses, whatever they look like
  ADD_FORBID_CONTENTS: ["annotation"], // the source that KaTeX puts beside a formula
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const REFUSED = "#fe0001"; // how KaTeX marks a command that it does not carry out, such as a link, in place of its content
const KATEX = { output: "mathml", strict: "ignore", maxSize: 20, errorColor: REFUSED };
const LONGEST_HIGHLIGHTED = 50_000; // characters
const LONG_FORMULA = 40; // characters of its source from which an inline formula may be wider than a phone

/** A container whose blocks follow a growing text: blocks that did not change keep their nodes (and selections). */
export class MarkdownView {
  #blocks = [];

  constructor(container) {
    this.container = container;
  }

  update(text) {
    const blocks = readBlocks(text);
    let same = 0;
    while (same < blocks.length && this.#blocks[same]?.key === blocks[same].key) same += 1;
    for (const { nodes } of this.#blocks.splice(same)) nodes.forEach((node) => node.remove());
    for (const { key, html } of blocks.slice(same)) {
      const nodes = renderBlock(html());
      this.container.append(...nodes);
      this.#blocks.push({ key, nodes });
    }
  }
}

function renderBlock(html) {
  const block = sanitize(html);
  for (const link of block.querySelectorAll("a")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const code of block.querySelectorAll("pre > code")) finishCode(code);
  for (const formula of block.querySelectorAll(".math")) finishFormula(formula);
  for (const table of block.querySelectorAll("table")) {
    const scroller = el("div", { class: "table", role: "group", "aria-label": gettext("Table") });
    table.replaceWith(scroller);
    scroller.append(table);
    widths.observe(scroller);
  }
  for (const mark of block.querySelectorAll(".checkbox")) mark.replaceWith(checkbox(mark));
  return [...block.children];
}

/** Return a fragment with what is allowed of this HTML. Nothing else in the page parses markup. */
function sanitize(html) {
  return DOMPurify.sanitize(html, SANITIZED);
}

/** What is too wide for its place scrolls, with the arrow keys too once it has the focus. */
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

/** A library that is loaded when a reply first needs it: `use(then)` calls at once if it is here already. */
function lazily(load) {
  let library = null;
  let loading = null;
  return (then) => {
    if (library) then(library);
    else (loading ??= load().then((module) => (library = module.default))).then(then, console.warn);
  };
}
const withHighlighter = lazily(() => import("../vendor/highlight/highlight.min.js"));
const withKatex = lazily(() => import("../vendor/katex/katex.mjs"));

function finishCode(code) {
  const { language } = code.dataset;
  const text = code.textContent;
  const pre = code.parentElement;
  const name = el("span", { class: "code-language" }, language || gettext("Code"));
  const head = el("div", { class: "code-head" }, name, navigator.clipboard ? copyButton(text) : null);
  const block = el("div", { class: "code", dir: "ltr" }, head);
  pre.replaceWith(block);
  block.append(pre);
  widths.observe(pre);
  if (!language || text.length > LONGEST_HIGHLIGHTED) return;
  withHighlighter((highlighter) => {
    const known = highlighter.getLanguage(language);
    if (!known) return;
    name.textContent = known.name.split(",")[0]; // "HTML, XML"
    code.replaceChildren(sanitize(highlighter.highlight(text, { language, ignoreIllegals: true }).value));
  });
}

function copyButton(text) {
  const label = el("span", {}, gettext("Copy"));
  const announced = el("span", { class: "visually-hidden", role: "status" });
  const copy = button({ class: "code-copy" }, icon("copy"), label);
  const show = (name, words) => {
    copy.firstChild.replaceWith(icon(name));
    label.textContent = words;
  };
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    show("check", gettext("Copied"));
    announced.textContent = gettext("Copied");
    setTimeout(() => {
      show("copy", gettext("Copy"));
      announced.textContent = "";
    }, 1500);
  });
  return el("div", {}, copy, announced);
}

function finishFormula(formula) {
  const { tex } = formula.dataset;
  const displayMode = formula.classList.contains("display");
  formula.classList.toggle("long", !displayMode && tex.length > LONG_FORMULA);
  if (displayMode || tex.length > LONG_FORMULA) widths.observe(formula);
  withKatex((katex) => {
    const html = typeset(katex, tex, displayMode);
    if (html && !html.includes(REFUSED)) formula.replaceChildren(sanitize(html));
    else formula.classList.add("unreadable"); // its source stays
  });
}

function typeset(katex, tex, displayMode) {
  try {
    return katex.renderToString(tex, { ...KATEX, displayMode });
  } catch {
    return null; // no math, or nested too deep
  }
}

function checkbox(mark) {
  const item = mark.closest("li").cloneNode(true);
  item.querySelectorAll("ul, ol, .code, blockquote, .table").forEach((inner) => inner.remove());
  const label = item.textContent.trim() || gettext("Task");
  return el("input", { type: "checkbox", disabled: true, checked: mark.matches(".checked"), "aria-label": label });
}
