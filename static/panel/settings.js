// The settings page: sliders say their value, and what is not saved yet is not lost by accident.

const form = document.querySelector(".settings form");
const unsaved = form.querySelector("[data-unsaved]");

form.addEventListener("input", ({ target }) => {
  const output = form.querySelector(`output[for="${target.id}"]`);
  if (output) output.textContent = target.value;
  unsaved.hidden = false;
});

form.addEventListener("submit", () => {
  unsaved.hidden = true;
});

window.addEventListener("beforeunload", (event) => {
  if (!unsaved.hidden) event.preventDefault();
});
