// Draws the charts of the overview with Chart.js, which comes with django-unfold, in the colours of the theme.

/* global Chart */

const charts = [];

function readColour(name) {
  const tone = name.startsWith("emotion-") ? `--${name}` : `--chart-${name}`;
  return readVariable(tone) || readVariable("--chart-grey");
}

function readVariable(name) {
  return getComputedStyle(document.querySelector(".overview")).getPropertyValue(name).trim();
}

function describe(canvas) {
  const { kind, labels, series } = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
  const stacked = kind === "bar";
  return {
    type: kind,
    data: {
      labels,
      datasets: series.map(({ label, numbers, tone }) => ({
        label,
        data: numbers,
        tone,
        borderWidth: stacked ? 0 : 2,
        borderRadius: stacked ? 2 : 0,
        maxBarThickness: 14,
        pointRadius: 0,
        pointHitRadius: 12,
        tension: 0.3,
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: { stacked, grid: { display: false }, border: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 24 } },
        y: { stacked, beginAtZero: true, border: { display: false }, ticks: { precision: 0, maxTicksLimit: 5 } },
      },
      plugins: {
        legend: { position: "bottom", align: "start", labels: { boxWidth: 10, boxHeight: 10, useBorderRadius: true, borderRadius: 3 } },
        tooltip: { filter: (item) => item.raw > 0 },
      },
    },
  };
}

function paint(chart) {
  const text = getComputedStyle(chart.canvas).color;
  for (const dataset of chart.data.datasets) {
    dataset.backgroundColor = dataset.borderColor = readColour(dataset.tone);
  }
  const { scales, plugins } = chart.options;
  scales.x.ticks.color = scales.y.ticks.color = plugins.legend.labels.color = text;
  scales.y.grid = { color: readVariable("--chart-grid") };
  chart.update("none");
}

for (const canvas of document.querySelectorAll("canvas[data-chart]")) {
  const chart = new Chart(canvas, describe(canvas));
  charts.push(chart);
  paint(chart);
}

new MutationObserver(() => charts.forEach(paint)).observe(document.documentElement, { attributeFilter: ["class"] });
