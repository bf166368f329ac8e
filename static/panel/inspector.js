// Keys of the context inspector: j and k go to the next and the previous turn of the conversation.

const KEYS = { j: "next", k: "prev" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const link = KEYS[event.key] && document.querySelector(`[data-inspector] a[rel="${KEYS[event.key]}"]`);
  if (link) link.click();
});
