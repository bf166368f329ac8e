// The fields of a memory's editor, on every page that has one: what a typed value will be stored as, and shares in percent.

/** Return what a typed value will be stored as, as `apps.panel.texts` reads it: the name of a word on its chip. */
function nameShape(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    if (/^\s*- /.test(text) && text.split("\n").every((line) => !line.trim() || /^\s*- /.test(line))) return "list";
    return /^\s*["[{]/.test(text) ? "broken" : "text";
  }
  if (value === null) return "null";
  if (Array.isArray(value)) return "list";
  return { string: "text", number: "number", boolean: "truth", object: "object" }[typeof value];
}

function show(field) {
  const label = field.closest(".editor__field");
  if (field.matches("[data-share]")) {
    label.querySelector("[data-share-text]").textContent = `${Math.round(field.value * 100)}%`;
  } else if (field.matches("[data-value]")) {
    const chip = label.querySelector("[data-shape]");
    const shape = nameShape(field.value);
    chip.textContent = chip.dataset[shape];
    chip.classList.toggle("chip--red", shape === "broken");
    chip.classList.toggle("chip--amber", shape === "null");
  }
}

/** Show what the fields of an editor hold, once it is there. */
export function showFields(editor) {
  editor.querySelectorAll("[data-value], [data-share]").forEach(show);
}

/** Return the field of an editor to begin with: what is wrong, else what one writes. */
export function firstField(editor) {
  const wrong = editor.querySelector(".editor__field:has(.editor__error) :is(input, textarea, select)");
  return wrong ?? editor.querySelector("textarea, input:not([type=hidden])");
}

document.addEventListener("input", (event) => {
  if (event.target.closest(".editor__field")) show(event.target);
});
