// The form dialog (SPEC, H1): a title and named fields, from a template or of one's own.

import { byId, button, el, iconButton } from "./dom.js";
import { openDialog } from "./dialogs.js";
import { gettext, interpolate } from "./i18n.js";

const TEMPLATES = [
  { title: gettext("Travel plan"), fields: [gettext("Destination"), gettext("Date"), gettext("Fellow travellers")] },
  {
    title: gettext("Preferences"),
    fields: [gettext("How to address me"), gettext("Style of replies"), gettext("Interests")],
  },
  { title: "", fields: [""] },
];

/** `onSubmit({title, fields})` gets a form with at least one field that is filled in. */
export class FormDialog {
  constructor({ onSubmit }) {
    this.onSubmit = onSubmit;
    this.dialog = byId("forms");
    this.title = byId("form-title");
    this.rows = byId("form-rows");
    this.problem = byId("form-problem");
    for (const template of TEMPLATES) {
      const choose = () => this.#fill(template);
      byId("form-templates").append(button({ class: "chip", on: { click: choose } }, template.title || gettext("Custom")));
    }
    byId("add-field").addEventListener("click", () => this.#addRow().querySelector("input").focus());
    byId("form-editor").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
  }

  /** Open with a form `{title, fields: {name: value}}` to be corrected, or with the first template. */
  open(form = null) {
    if (form) this.#fill({ title: form.title, fields: Object.keys(form.fields), values: form.fields });
    else this.#fill(TEMPLATES[0]);
    openDialog(this.dialog);
    (this.rows.querySelector("input.value") ?? this.title).focus();
  }

  #fill({ title, fields, values = {} }) {
    this.problem.hidden = true;
    this.title.value = title;
    this.rows.replaceChildren();
    for (const name of fields) this.#addRow(name, values[name]);
    (title ? this.rows.querySelector("input.value") : this.title).focus();
  }

  #addRow(name = "", value = "") {
    const remove = iconButton("close", gettext("Remove field"), {
      on: {
        click: () => {
          row.remove();
          byId("add-field").focus();
        },
      },
    });
    const input = (kind, text, maxlength, label, placeholder) =>
      el("input", { class: `field-input ${kind}`, value: text, maxlength, "aria-label": label, placeholder });
    const row = el(
      "div",
      { class: "form-row" },
      input("name", name, 100, gettext("Field name"), gettext("Field")),
      input("value", value, 2000, gettext("Value"), gettext("Value")),
      remove,
    );
    this.rows.append(row);
    return row;
  }

  #submit() {
    const entries = [...this.rows.children]
      .map((row) => [row.querySelector(".name").value.trim(), row.querySelector(".value").value.trim()])
      .filter(([, value]) => value);
    const names = entries.map(([name]) => name);
    const twice = names.find((name, index) => name && names.indexOf(name) !== index);
    if (!entries.length) this.#refuse(gettext("Fill in at least one field."));
    else if (names.includes("")) this.#refuse(gettext("Every value needs a field name."));
    else if (twice) this.#refuse(interpolate(gettext("Two fields are named “%s”."), [twice]));
    else {
      this.dialog.close("submitted");
      this.onSubmit({ title: this.title.value.trim(), fields: Object.fromEntries(entries) });
    }
  }

  #refuse(reason) {
    this.problem.textContent = reason;
    this.problem.hidden = false;
  }
}
