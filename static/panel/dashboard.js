// Draws the charts of the overview with Chart.js, which comes with django-unfold, in the colours of the theme.

/* global Chart */

let charts = [];

function readVariable(name) {
  return getComputedStyle(document.querySelector(".overview")).getPropertyValue(name).trim();
}

function readColour(tone) {
  return readVariable(tone.startsWith("emotion-") ? `--${tone}` : `--chart-${tone}`) || readVariable("--chart-grey");
}

function draw(canvas) {
  const { kind, labels, series } = JSON.parse(document.getElementById(canvas.dataset.chart).textContent);
  const stacked = kind === "bar";
  const text = getComputedStyle(canvas).color;
  const ticks = { color: text };
  const border = { display: false };
  return new Chart(canvas, {
    type: kind,
    data: {
      labels,
      datasets: series.map(({ label, numbers, tone }) => ({
        label,
        data: numbers,
        backgroundColor: readColour(tone),
        borderColor: readColour(tone),
        borderWidth: stacked ? 0 : 2,
        borderRadius: stacked ? 2 : 0,
        maxBarThickness: 14,
        pointRadius: 0,
        pointHitRadius: 12,
        cubicInterpolationMode: "monotone",
      })),
    },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: { stacked, grid: { display: false }, border, ticks: { ...ticks, maxRotation: 0, autoSkipPadding: 24 } },
        y: {
          stacked,
          beginAtZero: true,
          border,
          grid: { color: readVariable("--chart-grid") },
          ticks: { ...ticks, precision: 0, maxTicksLimit: 5 },
        },
      },
      plugins: {
        legend: {
          position: "bottom",
          align: "start",
          labels: { color: text, boxWidth: 10, boxHeight: 10, useBorderRadius: true, borderRadius: 3 },
        },
        tooltip: { filter: (item) => item.raw > 0 },
      },
    },
  });
}

function drawAll() {
  charts.forEach((chart) => chart.destroy());
  charts = Array.from(document.querySelectorAll("canvas[data-chart]"), draw);
}

drawAll();
new MutationObserver(drawAll).observe(document.documentElement, { attributeFilter: ["class"] });
