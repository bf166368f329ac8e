// The layers of the context a message would be sent with (SPEC, C4), with their tokens.

import { api } from "./api.js";
import { showProblem } from "./dialogs.js";
import { button, el, smallButton } from "./dom.js";
import { formatCount, gettext, interpolate, ngettext } from "./i18n.js";
import { layerLabel } from "./labels.js";
import { skeleton } from "./loading.js";
import { bar } from "./recalled.js";

/** Return the section; it asks the server only when someone wants to look. */
export function contextSection({ conversation, getMessage }) {
  const body = el("div", { class: "layers" });
  const load = async () => {
    const message = getMessage();
    body.replaceChildren(skeleton([70, 90, 60]));
    try {
      const context = await api.getContext(conversation.id, message);
      body.replaceChildren(layers(context, message), smallButton("retry", gettext("Refresh"), load, { kind: "quiet" }));
    } catch (error) {
      body.replaceChildren(look());
      showProblem(error);
    }
  };
  const look = () => button({ class: "button small", on: { click: load } }, gettext("Show prompt"));
  body.append(look());
  const about = gettext("The prompt for your draft, or for your last message.");
  return el(
    "section",
    { class: "detail", "data-section": "context" },
    el("h3", {}, gettext("Prompt sent to the model")),
    el("p", { class: "soft" }, about),
    body,
  );
}

function layers({ layers: found, total_tokens: total }, message) {
  const fullest = Math.max(1, ...found.map((layer) => layer.tokens));
  return el(
    "div",
    {},
    el(
      "p",
      { class: "soft free-text" },
      interpolate(
        ngettext("%(count)s token for “%(message)s”", "%(count)s tokens for “%(message)s”", total),
        { count: formatCount(total), message: shorten(message) },
        true,
      ),
    ),
    found.map((layer) => {
      const title = layerLabel(layer);
      return el(
        "details",
        { class: "layer" },
        el(
          "summary",
          {},
          el("span", {}, title),
          bar({ value: layer.tokens, full: fullest, title }),
          el("b", {}, formatCount(layer.tokens)),
        ),
        el("pre", { class: "free-text", tabindex: 0, dir: "auto" }, layer.content || gettext("(empty)")),
      );
    }),
  );
}

function shorten(text) {
  const characters = Array.from(text);
  return characters.length > 40 ? `${characters.slice(0, 40).join("")}…` : text;
}
