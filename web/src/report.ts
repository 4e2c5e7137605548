// The laboratory's report: charts of the configurations that its tables have, and tables that sort. minitriton/lab/sweeping/page.py writes what it reads.
import { Chart, Legend, LinearScale, LineController, LineElement, LogarithmicScale, PointElement, ScatterController, Tooltip, type ChartDataset } from "chart.js";

Chart.register(ScatterController, LineController, LineElement, PointElement, LinearScale, LogarithmicScale, Tooltip, Legend);

/** A configuration: two metrics, and how it differs from the default. */
interface Dot {
  x: number;
  y: number;
  says: string;
}

interface Plot {
  id: string;
  x: string;
  y: string;
  /** Whether both axes are logarithmic. */
  log: boolean;
  groups: { name: string; kind: "all" | "best" | "default" | "kernel"; dots: Dot[] }[];
}

const COLOURS = ["#4c8df6", "#f59e0b", "#14b8a6", "#a855f7", "#ef4444", "#64a30d", "#ec4899", "#0ea5e9", "#b45309", "#6366f1", "#84cc16", "#f43f5e"];
const KINDS = { all: "#9aa5b1", best: "#d2483a", default: "#4c8df6" } as const;


function draw(plot: Plot): Chart {
  const canvas = document.getElementById(plot.id) as HTMLCanvasElement;
  const datasets: ChartDataset<"scatter", Dot[]>[] = plot.groups.map((group, at) => {
    const colour = group.kind === "kernel" ? COLOURS[at % COLOURS.length]! : KINDS[group.kind];
    const isBest = group.kind === "best";
    return { label: group.name, data: group.dots, backgroundColor: colour, borderColor: colour, showLine: isBest, borderWidth: isBest ? 2 : 1, pointRadius: { all: 3, best: 4, default: 6, kernel: 3 }[group.kind], pointHoverRadius: 7, pointStyle: group.kind === "default" ? "rectRot" : "circle", order: { all: 3, best: 2, default: 1, kernel: 2 }[group.kind] };
  });
  const text = dark.matches ? "#a2abbb" : "#586070";
  const axis = (title: string): object => ({ type: plot.log ? "logarithmic" : "linear", title: { display: true, text: title, color: text }, ticks: { color: text, maxTicksLimit: 7 }, grid: { color: dark.matches ? "#333845" : "#e2e6ec" } });
  return new Chart(canvas, {
    type: "scatter",
    data: { datasets },
    options: {
      animation: false, maintainAspectRatio: false,
      scales: { x: axis(plot.x), y: axis(plot.y) },
      plugins: {
        legend: { position: "bottom", labels: { color: text, usePointStyle: true, boxHeight: 7 } },
        tooltip: { callbacks: { label: (item) => { const dot = item.raw as Dot; return [`${item.dataset.label}: ${shown(dot.x)}, ${shown(dot.y)}`, ...dot.says.split("\n").slice(0, MOST_LINES)]; } } },
      },
    },
  });
}

const MOST_LINES = 8;
const shown = (value: number): string => (Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(4));

/** Lets the heads of a table sort it by their column. */
function sortable(table: HTMLTableElement): void {
  const heads = [...table.querySelectorAll<HTMLElement>("thead th")];
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const made = document.createElement("button");
    made.type = "button";
    made.append(...head.childNodes);
    head.append(made);
    made.addEventListener("click", () => {
      const isUp = head.getAttribute("aria-sort") !== "ascending";
      for (const one of heads) one.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isUp ? "ascending" : "descending");
      const body = table.tBodies[0]!;
      const value = (row: HTMLTableRowElement): string => row.cells[column]?.dataset.value ?? row.cells[column]?.textContent ?? "";
      const rows = [...body.rows].sort((a, b) => {
        const [one, other] = [value(a), value(b)];
        const numbers = Number(one) - Number(other);
        return (Number.isNaN(numbers) ? one.localeCompare(other) : numbers) * (isUp ? 1 : -1);
      });
      body.append(...rows);
    });
  });
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const plots = JSON.parse(document.getElementById("plots")?.textContent ?? "[]") as Plot[];
let charts = plots.map(draw);
dark.addEventListener("change", () => {
  for (const one of charts) one.destroy();
  charts = plots.map(draw);
});
for (const table of document.querySelectorAll<HTMLTableElement>("table.sorts")) sortable(table);
document.body.dataset.ready = "true";
