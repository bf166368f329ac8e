// Tells the server the browser's time zone, so that the panel shows times, days and filters by day as the clock here has
// them. A plain script: it has run before a page leads on to the panel.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!zone) return;
  const cookie = `zone=${encodeURIComponent(zone)}`;
  if (document.cookie.split("; ").includes(cookie)) return;
  document.cookie = `${cookie}; path=/; max-age=${365 * 24 * 3600}; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
})();
