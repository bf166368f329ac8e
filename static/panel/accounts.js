// Buttons that copy what the element named by `data-copies` says.

for (const button of document.querySelectorAll("[data-copies]")) {
  const label = button.querySelector("[data-label]");
  const before = label.textContent;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // Without https browsers keep the clipboard to themselves: what is selected can still be copied by hand.
      getSelection().selectAllChildren(source);
      return;
    }
    label.textContent = button.dataset.done;
    setTimeout(() => {
      label.textContent = before;
    }, 2000);
  });
}
