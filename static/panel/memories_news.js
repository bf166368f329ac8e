// What is remembered, changed and deleted while one looks at a list. Nothing moves while somebody edits or selects.

const SECONDS = 4;

/** Ask for news every few seconds while the page is seen. `isBusy`: whether rows must stay where they are. */
export function watchNews(root, { isBusy, isEditing, reload }) {
  const waiting = new Set();

  root.addEventListener("click", (event) => {
    if (!event.target.closest("#memory-pill") || isEditing()) return;
    waiting.clear();
    reload();
  });

  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target.id === "memory-page") waiting.clear();
  });

  // Taken from the response and not from the page, where a row would stand twice until it settles.
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "memory-news") return;
    event.detail.shouldSwap = false;
    if (event.detail.xhr.status !== 200) return;
    take(new DOMParser().parseFromString(event.detail.serverResponse, "text/html").body);
  });

  setInterval(() => {
    const table = document.getElementById("memory-table");
    if (!table?.dataset.news || document.hidden) return;
    const url = new URL(table.dataset.news, location.href);
    url.searchParams.set("after", table.dataset.after);
    htmx.ajax("GET", url.pathname + url.search, { source: "#memory-news", target: "#memory-news", swap: "innerHTML" });
  }, SECONDS * 1000);

  function take(news) {
    const found = news.querySelector("table");
    const table = document.getElementById("memory-table");
    if (!found || !table) return;
    table.dataset.after = found.dataset.cursor;
    const isFirstPage = table.dataset.page === "1";
    const body = table.tBodies[0];
    for (const row of [...found.tBodies[0].rows].reverse()) {
      const there = document.getElementById(row.id);
      const shown = body.contains(there) ? there : null;
      if (shown?.hasAttribute("data-editor") || shown?.contains(document.activeElement)) continue;
      if (!shown && (isBusy() || !isFirstPage)) {
        waiting.add(row.id);
        continue;
      }
      if (shown) keepTick(shown, row);
      else body.prepend(row);
      htmx.process(row);
    }
    for (const { dataset } of news.querySelectorAll("[data-gone]")) {
      waiting.delete(`memory-${dataset.gone}`);
      const row = body.querySelector(`[data-memory="${dataset.gone}"]:not([data-editor])`);
      if (row) row.classList.add("memory--gone");
      if (row && !isBusy()) setTimeout(() => row.remove(), 1500);
    }
    showPill(found.hasAttribute("data-many"));
  }

  function keepTick(shown, row) {
    const tick = shown.querySelector('input[name="selected"]');
    row.querySelector('input[name="selected"]').checked = tick?.checked ?? false;
    shown.replaceWith(row);
  }

  function showPill(many) {
    const pill = document.getElementById("memory-pill");
    if (!pill) return;
    const count = waiting.size;
    pill.hidden = count === 0;
    pill.disabled = isEditing();
    const text = count === 1 ? root.dataset.newOne : root.dataset.newMany;
    pill.textContent = text.replace("{count}", many ? `${count}+` : count);
  }
}
