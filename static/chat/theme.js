// A classic script, run before the first paint so that a chosen theme never flashes the other one.
// theme: "light" or "dark" when the person chose one; otherwise the system decides (see tokens.css).
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage is blocked: the system's theme it is.
}
