// A layout drawn: every element of a tile coloured by who holds it, or by where in shared memory it lies.
import { make } from "./dom";
import type { Layout } from "./payload";

export type Colouring = "warp" | "lane" | "register" | "block" | "bank" | "row" | "copies";

/** Where one element is: of registers block, warp, lane and register, of shared memory the offset in elements. */
export interface Home {
  block: number;
  warp: number;
  lane: number;
  register: number;
  offset: number;
  copies: number;
}

const BANKS = 32;
const BANK_BYTES = 4;

/** The homes of all elements of a layout, in row-major order. */
export function homes(layout: Layout): Home[] {
  const count = layout.shape.reduce((a, b) => a * b, 1);
  const found = new Array<Home | undefined>(count);
  const dims = ["register", "lane", "warp", "block", "offset"] as const;
  const bits: [dim: (typeof dims)[number], bit: number, at: number][] = [];
  for (const dim of dims) (layout.bases[dim] ?? []).forEach((base, bit) => bits.push([dim, bit, flat(base, layout.shape)]));
  for (let number = 0; number < 1 << bits.length; number++) {
    const home: Home = { block: 0, warp: 0, lane: 0, register: 0, offset: 0, copies: 1 };
    // Indices along an axis are powers of two, so that xor along the axes is xor of the flat index.
    let at = 0;
    bits.forEach(([dim, bit, base], place) => {
      if ((number >> place) & 1) {
        at ^= base;
        home[dim] |= 1 << bit;
      }
    });
    const before = found[at];
    if (before) before.copies++;
    else found[at] = home;
  }
  return found.map((one) => one ?? { block: 0, warp: 0, lane: 0, register: 0, offset: 0, copies: 0 });
}

function flat(index: readonly number[], shape: readonly number[]): number {
  return index.reduce((sum, one, axis) => sum * shape[axis]! + one, 0);
}

/** The bank of shared memory in which an element begins. */
export function bankOf(home: Home, layout: Layout, bits: number): number {
  return Math.floor(byteOf(home, layout, bits) / BANK_BYTES) % BANKS;
}

export function byteOf(home: Home, layout: Layout, bits: number): number {
  const padding = (layout.padding ?? []).reduce((sum, [interval, put]) => sum + Math.floor(home.offset / interval) * put, 0);
  return Math.floor(((home.offset + padding) * bits) / 8);
}

export function describe(home: Home, layout: Layout, bits: number): string {
  if (layout.kind === "shared") return `byte ${byteOf(home, layout, bits)}, bank ${bankOf(home, layout, bits)}`;
  const copies = home.copies > 1 ? `, and ${home.copies - 1} copies` : "";
  const block = (layout.bases.block?.length ?? 0) > 0 ? `block ${home.block}, ` : "";
  return `${block}warp ${home.warp}, lane ${home.lane}, register ${home.register}${copies}`;
}

export function colouringsOf(layout: Layout): Colouring[] {
  if (layout.kind === "shared") return ["bank", "row"];
  return (layout.bases.block?.length ?? 0) > 0 ? ["warp", "lane", "register", "block"] : ["warp", "lane", "register"];
}

function numberOf(home: Home, layout: Layout, bits: number, by: Colouring): [value: number, of: number] {
  const sizes = (dim: string): number => 1 << (layout.bases[dim]?.length ?? 0);
  if (by === "bank") return [bankOf(home, layout, bits), BANKS];
  if (by === "row") return [Math.floor(byteOf(home, layout, bits) / (BANKS * BANK_BYTES)), Math.max(1, (sizes("offset") * bits) / 8 / (BANKS * BANK_BYTES))];
  if (by === "copies") return [home.copies, 8];
  return [home[by], sizes(by)];
}

/** Colours that neighbours can be told apart by: hues go round by the golden ratio for few, evenly for many. */
function colour(value: number, of: number): string {
  const hue = of <= 8 ? (value * 360) / of : (value * 137.508) % 360;
  return `hsl(${hue.toFixed(0)} 65% ${62 + ((value * 7) % 18)}%)`;
}

/** Rows and columns that a tile of any rank is drawn in: the last axis across, all others down. */
export function extent(shape: readonly number[]): [rows: number, columns: number] {
  const columns = shape.length === 1 ? Math.min(64, shape[0]!) : shape.at(-1)!;
  return [Math.max(1, Math.ceil(shape.reduce((a, b) => a * b, 1) / columns)), columns];
}

const MOST_PIXELS = 860;

export class Picture {
  readonly canvas = document.createElement("canvas");
  readonly element: HTMLElement;
  private readonly homes: Home[];
  private readonly rows: number;
  private readonly columns: number;
  private readonly cell: number;
  private by: Colouring;
  private marked: (home: Home, at: number) => boolean = () => false;

  constructor(
    readonly layout: Layout,
    private readonly bits: number,
    by: Colouring,
    onPoint: (at: number | null) => void,
    width = MOST_PIXELS,
  ) {
    this.homes = homes(layout);
    [this.rows, this.columns] = extent(layout.shape);
    this.cell = Math.max(3, Math.min(30, Math.floor(width / this.columns)));
    this.by = colouringsOf(layout).includes(by) ? by : colouringsOf(layout)[0]!;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = this.columns * this.cell * ratio;
    this.canvas.height = this.rows * this.cell * ratio;
    this.canvas.style.width = `${this.columns * this.cell}px`;
    this.canvas.style.height = `${this.rows * this.cell}px`;
    this.canvas.getContext("2d")!.scale(ratio, ratio);
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${layout.encoding} on ${layout.shape.join("x")}, coloured by ${this.by}`);
    this.canvas.addEventListener("mousemove", (event) => {
      const at = Math.floor(event.offsetY / this.cell) * this.columns + Math.floor(event.offsetX / this.cell);
      onPoint(at < this.homes.length ? at : null);
    });
    this.canvas.addEventListener("mouseleave", () => onPoint(null));
    let at = 0;
    this.canvas.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.columns, ArrowDown: this.columns }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      at = Math.max(0, Math.min(this.homes.length - 1, at + step));
      onPoint(at);
    });
    this.element = make("div.picture", {}, this.canvas);
    this.draw();
  }

  home(at: number): Home {
    return this.homes[at]!;
  }

  get elements(): readonly Home[] {
    return this.homes;
  }

  index(at: number): string {
    const index: number[] = [];
    for (const size of [...this.layout.shape].reverse()) {
      index.unshift(at % size);
      at = Math.floor(at / size);
    }
    return `[${index.join(", ")}]`;
  }

  colourBy(by: Colouring): void {
    if (!colouringsOf(this.layout).includes(by)) return;
    this.by = by;
    this.canvas.setAttribute("aria-label", `${this.layout.encoding} on ${this.layout.shape.join("x")}, coloured by ${by}`);
    this.draw();
  }

  /** Draws a frame around the elements for which `is` holds. */
  mark(is: (home: Home, at: number) => boolean): void {
    this.marked = is;
    this.draw();
  }

  private draw(): void {
    const pen = this.canvas.getContext("2d")!;
    const size = this.cell;
    pen.font = `${Math.min(11, size * 0.42)}px system-ui`;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.clearRect(0, 0, this.columns * size, this.rows * size);
    this.homes.forEach((home, at) => {
      const [x, y] = [(at % this.columns) * size, Math.floor(at / this.columns) * size];
      const [value, of] = numberOf(home, this.layout, this.bits, this.by);
      pen.fillStyle = colour(value, of);
      pen.fillRect(x, y, size - (size > 5 ? 1 : 0), size - (size > 5 ? 1 : 0));
      if (this.marked(home, at)) {
        pen.strokeStyle = "#000";
        pen.lineWidth = Math.max(1, size / 8);
        pen.strokeRect(x + 1, y + 1, size - 3, size - 3);
      }
      if (size >= 20) {
        pen.fillStyle = "#111";
        pen.fillText(this.by === "register" ? `r${value}` : this.by === "lane" ? `t${value}` : String(value), x + size / 2, y + size / 2);
      }
    });
  }
}
