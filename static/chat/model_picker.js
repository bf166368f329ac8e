// Which model answers in this conversation: a choice below the composer, where there is more than one.

import { el } from "./dom.js";
import { gettext } from "./i18n.js";

const NAMES = {
  offline: gettext("built-in demo model"),
  environment: gettext("model of the environment"),
};

/** `models`: [{name, server, default}], the default one first. `onChoose(name)`: "" is the default one. */
export class ModelPicker {
  constructor({ models, onChoose }) {
    this.models = models;
    this.field = document.getElementById("model");
    if (!this.field) return; // there is nothing to choose
    this.field.replaceChildren(...models.map((model) => el("option", { value: model.default ? "" : model.name }, describe(model))));
    this.field.addEventListener("change", () => onChoose(this.field.value));
  }

  /** `name`: what the session is set to; one that is gone counts as the default one, as it does on the server. */
  show(name) {
    if (!this.field) return;
    const known = this.models.some((model) => !model.default && model.name === name);
    this.field.value = known ? name : "";
  }
}

function describe({ name, server }) {
  return server && server !== name ? `${name} · ${server}` : NAMES[name] ?? name;
}
