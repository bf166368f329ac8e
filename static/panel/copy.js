// <button data-copy="what" data-copied="said afterwards">: puts a text on the clipboard.

const SAID_MS = 2_000;

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.querySelector("[data-label]");
  const before = label.textContent;
  if (before === button.dataset.copied) return;
  label.textContent = button.dataset.copied;
  setTimeout(() => (label.textContent = before), SAID_MS);
});
