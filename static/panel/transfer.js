// Import: the file's name, how far it is sent, and what is shown next. What would happen, the server says.

const form = document.getElementById("transfer-form");
const progress = document.getElementById("transfer-progress");
const bar = progress.querySelector("progress");
const doing = document.getElementById("transfer-doing");
const outcome = document.getElementById("transfer-outcome");
const fileInput = form.querySelector('input[type="file"]');
const fileName = form.querySelector("[data-file-name]");
const noFile = fileName.textContent;

// Unfold would write the file's name into a field beside it, which is not there.
fileInput.hasChangeListener = true;
fileInput.addEventListener("change", () => {
  fileName.textContent = fileInput.files[0]?.name ?? noFile;
  outcome.replaceChildren();
});
for (const radio of form.elements.kind) radio.addEventListener("change", () => outcome.replaceChildren());

form.addEventListener("htmx:beforeRequest", () => {
  progress.hidden = false;
  doing.textContent = form.dataset.sending;
  bar.value = 0;
});

form.addEventListener("htmx:xhr:progress", (event) => {
  if (!event.detail.lengthComputable) return;
  if (event.detail.loaded < event.detail.total) {
    bar.value = (100 * event.detail.loaded) / event.detail.total;
    return;
  }
  bar.removeAttribute("value");
  doing.textContent = form.dataset.working;
});

form.addEventListener("htmx:afterRequest", () => {
  progress.hidden = true;
});

outcome.addEventListener("htmx:afterSwap", () => {
  outcome.querySelector("[data-focus]")?.focus({ preventScroll: true });
  outcome.scrollIntoView({ block: "nearest" });
});

// Undone: what was imported is not there any more.
document.body.addEventListener("panel:reload", () => outcome.replaceChildren());
