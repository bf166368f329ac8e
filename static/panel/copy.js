// Buttons that copy `data-copy`, or what the element named by `data-copies` says; then they say `data-done` for a while.

const SAID_MS = 2_000;

for (const button of document.querySelectorAll("[data-copy], [data-copies]")) {
  const label = button.querySelector("[data-label]");
  const before = label.textContent;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(button.dataset.copy ?? source.textContent);
    } catch {
      // Without https browsers keep the clipboard to themselves: what is selected can still be copied by hand.
      if (source) getSelection().selectAllChildren(source);
      return;
    }
    label.textContent = button.dataset.done;
    setTimeout(() => (label.textContent = before), SAID_MS);
  });
}
