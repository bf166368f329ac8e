// Making a space, and changing one (P1).

import { openDialog } from "./dialogs.js";
import { byId } from "./dom.js";
import { gettext } from "./i18n.js";
import { createSpace, updateSpace } from "./spaces.js";

const NEW = { name: "", kind: "project", instructions: "", learns_to: "space" };
const FIELDS = Object.keys(NEW);

export class SpaceDialog {
  #space = null; // that is changed; null for a new one
  #saved = null;

  constructor() {
    this.dialog = byId("space-dialog");
    this.form = byId("space-editor");
    this.problem = byId("space-problem");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  /** Ask for what a space is called and so on; resolves to it as it was saved, or to null for a cancel. */
  async open(space = null) {
    this.#space = space;
    this.#saved = null;
    this.problem.hidden = true;
    byId("space-title").textContent = space ? gettext("Edit space") : gettext("New space");
    byId("space-save").textContent = space ? gettext("Save") : gettext("Create space");
    for (const name of FIELDS) this.form.elements[name].value = (space ?? NEW)[name];
    const closed = openDialog(this.dialog);
    this.form.elements.name.focus();
    await closed;
    return this.#saved;
  }

  async #save() {
    const save = byId("space-save");
    if (save.disabled) return; // it is on its way
    const values = Object.fromEntries(FIELDS.map((name) => [name, this.form.elements[name].value.trim()]));
    save.disabled = true;
    try {
      this.#saved = await (this.#space ? updateSpace(this.#space.id, values) : createSpace(values));
      this.dialog.close("saved");
    } catch (error) {
      this.problem.textContent = sayProblem(error);
      this.problem.hidden = false;
      this.form.elements.name.focus();
    } finally {
      save.disabled = false;
    }
  }
}

function sayProblem(error) {
  if (error.code !== "conflict") return error.message;
  return error.fields.name ? gettext("Another space already has this name.") : gettext("You cannot have more spaces. Delete one first.");
}
