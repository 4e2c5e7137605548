// What each warp does and waits for, cycle by cycle of a model, with the copies and dots in flight below.
import { Trouble } from "./answers";
import { button, make, table } from "./dom";
import { baseName, type Compile, type Timeline, type WarpKind } from "./payload";
import type { Session } from "./session";

const KINDS: Record<WarpKind, [colour: string, text: string, means: string]> = {
  issue: ["#4c8df6", "works", "issues instructions"],
  copies: ["#f59e0b", "waits for a copy", "an asynchronous copy to shared memory"],
  dots: ["#a855f7", "waits for a dot", "a dot on the tensor cores"],
  barrier: ["#ef4444", "waits at a barrier", "other warps"],
  loads: ["#eab308", "waits for a load", "a load from global memory"],
  shared: ["#14b8a6", "waits for shared memory", "a load from shared memory, or a shuffle"],
  other: ["#9aa3b2", "waits otherwise", "a result of arithmetic, or the scheduler"],
};
const FLIGHTS = { copies: "#f59e0b", stores: "#b45309", loads: "#eab308", dots: "#a855f7" } as const;
const [ROW, LABEL, GAP, AXIS] = [13, 96, 6, 16];

/** A piece that can be pointed at: where it is, what it is, and the line that it comes from. */
interface Piece {
  row: number;
  start: number;
  end: number;
  colour: string;
  text: string;
  line: number;
}

interface Drawing {
  rows: string[];
  /** By row, in the order of time. */
  pieces: Piece[][];
}

export class TimeTab {
  private data = "l2";
  /** Cycles in sight. */
  private from = 0;
  private to = 0;
  private shown = 0;
  private key: unknown = null;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
  ) {}

  async show(): Promise<void> {
    const { compile, answers, base } = this.session;
    const key = JSON.stringify([this.session.compiles.indexOf(compile), this.data]);
    if (this.key === key) return;
    const number = ++this.shown;
    this.into.replaceChildren(make("p.hint", { role: "status" }, "running on the emulator…"));
    const isChange = base !== compile && base.asked?.source === compile.asked?.source;
    try {
      const [found, before] = await Promise.all([answers.timeline(compile, this.data), isChange ? answers.timeline(base, this.data).catch(() => null) : null]);
      if (number !== this.shown) return;
      this.key = key;
      [this.from, this.to] = [0, Math.max(found.cycles, before?.cycles ?? 0)];
      this.draw(compile, found, isChange ? base : null, before);
    } catch (error) {
      if (number === this.shown) this.into.replaceChildren(this.choices(), make("pre", {}, error instanceof Trouble ? error.problem.text : String(error)));
    }
  }

  private choices(): HTMLElement {
    const made = make("p.choices", { id: "time-data" }, "data comes from ");
    for (const [data, text, title] of [["l2", "L2", "other CTAs have read the same tiles"], ["memory", "memory", "nobody has: the first to read it"]] as const) {
      const one = button(text, title, () => {
        this.data = data;
        void this.show();
      });
      one.setAttribute("aria-pressed", String(data === this.data));
      made.append(one);
    }
    return made;
  }

  private draw(compile: Compile, found: Timeline, base: Compile | null, before: Timeline | null): void {
    const cell = make("output", { id: "cell" });
    const most = this.to;
    const pictures = [
      this.picture(compile, found, cell, `now: ${number(found.cycles)} cycles`),
      ...(before && base ? [this.picture(base, before, cell, `before: ${number(before.cycles)} cycles (${change(found.cycles, before.cycles)})`)] : []),
    ];
    const paint = (): void => pictures.forEach((one) => one.paint());
    const view = (from: number, to: number): void => {
      const span = Math.min(most, Math.max(40, to - from));
      this.from = Math.max(0, Math.min(from, most - span));
      this.to = this.from + span;
      paint();
    };
    const zoom = (by: number, at = 0.5): void => {
      const span = this.to - this.from;
      view(this.from + span * at * (1 - by), this.from + span * at * (1 - by) + span * by);
    };
    const pan = (by: number): void => view(this.from + (this.to - this.from) * by, this.to + (this.to - this.from) * by);
    for (const { canvas } of pictures) {
      canvas.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) < Math.abs(event.deltaY)) return;
        event.preventDefault();
        if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, (event.offsetX - LABEL) / Math.max(1, canvas.clientWidth - LABEL));
        else pan((event.deltaX || event.deltaY) / 600);
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => {
        const does: Record<string, () => void> = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => view(0, most), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2) };
        const action = does[event.key];
        if (!action) return;
        event.preventDefault();
        event.stopPropagation();
        action();
      });
      let begun: number | null = null;
      const cycleAt = (event: MouseEvent): number => this.from + ((event.offsetX - LABEL) / Math.max(1, canvas.clientWidth - LABEL)) * (this.to - this.from);
      canvas.addEventListener("mousedown", (event) => (begun = cycleAt(event)));
      canvas.addEventListener("mouseup", (event) => {
        const end = cycleAt(event);
        if (begun !== null && Math.abs(end - begun) * (canvas.clientWidth - LABEL) > 8 * (this.to - this.from)) view(Math.min(begun, end), Math.max(begun, end));
        begun = null;
      });
      canvas.addEventListener("dblclick", () => view(0, most));
    }
    const tools = make("p.choices", { id: "time-view" },
      button("all", "all cycles (0, or double-click)", () => view(0, most)), button("+", "closer (+, Ctrl and wheel, or drag over a part)", () => zoom(0.5)), button("−", "further away (-)", () => zoom(2)),
      button("←", "earlier", () => pan(-0.3)), button("→", "later", () => pan(0.3)));
    const legend = make("p.choices", { id: "time-legend" }, ...Object.entries(KINDS).flatMap(([kind, [colour, text, means]]) => {
      const share = found.shares[kind as WarpKind];
      return share ? [make("span", { title: means }, swatch(colour), ` ${text} ${percent(share)}`)] : [];
    }));
    const busy = `The tensor cores work ${percent(found.busy.tensor ?? 0)} of the time, the pipe to ${this.data === "l2" ? "L2" : "memory"} ${percent(found.busy.pipe ?? 0)}.`;
    const rows = found.waits.map(([kind, file, line, cycles]) => {
      const go = make("button.link", { type: "button" }, `${baseName(compile.files[file])}:${line}`);
      go.addEventListener("click", () => this.session.choose({ place: { file, line }, value: null, op: 0 }));
      return [go, make("span", {}, swatch(KINDS[kind][0]), ` ${KINDS[kind][1].replace("waits ", "")}`), `${number(cycles)} (${percent(cycles / Math.max(1, found.cycles))})`];
    });
    this.into.replaceChildren(
      make("section.card.wide", { id: "timeline" },
        make("h4", {}, "Warps of one CTA over time", make("small", {}, " what the emulator saw them execute, by a model of an SM’s time: no measurement")),
        make("div.choices", {}, this.choices(), tools), legend, cell, ...pictures.map((one) => one.element), make("p.hint", {}, `${busy}${found.is_partial ? " The kernel goes on after what is shown." : ""}`)),
      make("section.card", { id: "time-waits" }, make("h4", {}, "Lines that warps wait at"), rows.length ? table(["line", "for", "cycles a warp"], rows) : make("p.hint", {}, "none of them waits")),
    );
    paint();
    new ResizeObserver(paint).observe(pictures[0]!.canvas.parentElement!);
  }

  private picture(compile: Compile, found: Timeline, cell: HTMLElement, title: string): { element: HTMLElement; canvas: HTMLCanvasElement; paint: () => void } {
    const drawing = drawingOf(found);
    const canvas = document.createElement("canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${title}; ${found.warps.length} warps: ${Object.entries(found.shares).map(([kind, share]) => `${KINDS[kind as WarpKind][1]} ${percent(share)}`).join(", ")}`);
    const height = drawing.rows.length * ROW + AXIS + GAP;
    const placed = (line: number): { place: { file: number; line: number } | null; text: string } => {
      const [ptx, file, at] = found.lines[line]!;
      return { place: file >= 0 ? { file, line: at } : null, text: `${file >= 0 ? `${baseName(compile.files[file])}:${at}, ` : ""}PTX line ${ptx}` };
    };
    let marked: Piece | null = null;
    const at = (event: MouseEvent): Piece | null => {
      const cycle = this.from + ((event.offsetX - LABEL) / Math.max(1, canvas.clientWidth - LABEL)) * (this.to - this.from);
      const row = Math.floor(event.offsetY / ROW);
      const slack = (2 * (this.to - this.from)) / Math.max(1, canvas.clientWidth);
      return drawing.pieces[row]?.find((one) => one.start - slack <= cycle && cycle <= one.end + slack) ?? null;
    };
    const paint = (): void => {
      const width = Math.max(300, (canvas.parentElement?.clientWidth ?? 800) - 2);
      const scale = window.devicePixelRatio || 1;
      canvas.width = width * scale;
      canvas.height = height * scale;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
      const pen = canvas.getContext("2d")!;
      pen.scale(scale, scale);
      const ink = getComputedStyle(this.into).color;
      pen.font = "10px system-ui, sans-serif";
      pen.textBaseline = "middle";
      const x = (cycle: number): number => LABEL + ((cycle - this.from) / (this.to - this.from)) * (width - LABEL);
      drawing.rows.forEach((text, row) => {
        pen.fillStyle = ink;
        pen.fillText(text, 2, row * ROW + ROW / 2, LABEL - 6);
        for (const one of drawing.pieces[row]!) {
          if (one.end < this.from || one.start > this.to) continue;
          const left = Math.max(LABEL, x(one.start));
          pen.fillStyle = one.colour;
          pen.fillRect(left, row * ROW + 1, Math.max(0.6, Math.min(width, x(one.end)) - left), ROW - 2);
          if (one === marked) {
            pen.strokeStyle = ink;
            pen.strokeRect(left + 0.5, row * ROW + 0.5, Math.max(2, Math.min(width, x(one.end)) - left - 1), ROW - 1);
          }
        }
      });
      pen.fillStyle = ink;
      const step = niceStep((this.to - this.from) / 8);
      for (let cycle = Math.ceil(this.from / step) * step; cycle <= this.to; cycle += step) {
        pen.fillRect(x(cycle), drawing.rows.length * ROW + 1, 1, 4);
        pen.fillText(number(cycle), x(cycle) + 3, drawing.rows.length * ROW + AXIS / 2 + 2);
      }
    };
    canvas.addEventListener("mousemove", (event) => {
      const one = at(event);
      if (one !== marked) {
        marked = one;
        paint();
      }
      cell.textContent = one ? `${drawing.rows[one.row]}: cycles ${number(one.start)}–${number(one.end)} (${number(one.end - one.start)}), ${one.text}; ${placed(one.line).text}` : "";
    });
    canvas.addEventListener("click", (event) => {
      const one = at(event);
      const where = one && placed(one.line).place;
      if (where) this.session.choose({ place: this.session.translated(where, compile, this.session.compile), value: null, op: 0 });
    });
    return { element: make("div.picture", {}, make("h5", {}, title), canvas), canvas, paint };
  }
}

/** Rows of warps, then rows of what is in flight: what overlaps is in rows of its own. */
function drawingOf(found: Timeline): Drawing {
  const rows = found.warps.map((_, at) => `warp ${at}`);
  const pieces: Piece[][] = found.warps.map((segments, row) => segments.map(([start, end, kind, line]) => ({ row, start, end, colour: KINDS[kind][0], text: KINDS[kind][1], line })));
  for (const kind of ["copies", "dots", "loads", "stores"] as const) {
    const lanes: number[] = [];
    const first = rows.length;
    for (const one of found.flights.filter((flight) => flight.kind === kind)) {
      let lane = lanes.findIndex((end) => end <= one.start);
      if (lane < 0) {
        if (lanes.length >= MOST_LANES) continue;
        lane = lanes.push(0) - 1;
        rows.push(lane ? "" : `${kind} in flight`);
        pieces.push([]);
      }
      lanes[lane] = one.end;
      const row = first + lane;
      const what = kind === "dots" ? `a group of ${one.amount} dot instructions` : `${number(one.amount)} bytes of ${kind}`;
      pieces[row]!.push({ row, start: one.start, end: one.end, colour: FLIGHTS[kind], text: `${what} in flight`, line: one.line });
    }
  }
  return { rows, pieces };
}

const MOST_LANES = 8;

function swatch(colour: string): HTMLElement {
  const made = make("i.swatch");
  made.style.background = colour;
  return made;
}

const number = (value: number): string => Math.round(value).toLocaleString("en");
const percent = (share: number): string => `${Math.round(100 * share)} %`;
const change = (now: number, before: number): string => (now === before ? "the same" : `${now < before ? "−" : "+"}${Math.abs(Math.round((100 * (now - before)) / Math.max(1, before)))} % now`);

function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((by) => by * power).find((one) => one >= least) ?? power;
}
