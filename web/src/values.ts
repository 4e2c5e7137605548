// What a tensor holds while the kernel runs: a heat map, before and after a pass, a slice of what has more than two axes.
import { Trouble } from "./answers";
import { button, make } from "./dom";
import type { Compile, TypeRow, ValueFact, Values } from "./payload";
import { hasFacts, samePlace, placeOf } from "./payload";
import type { Session, Shown } from "./session";

type Side = "after" | "before" | "difference";

/** Where a value is looked at: at which step of which compile. */
interface Looked {
  compile: Compile;
  step: number;
  values: Record<string, ValueFact>;
  types: TypeRow[];
}

export class ValuesTab {
  private side: Side = "after";
  private program = 0;
  private run = 0;
  private index: number[] = [];
  private of = "";
  /** The kernel's array that is looked at, in place of a tensor: files hold them. */
  private array: string | null = null;
  private shown = 0;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
  ) {}

  async show(): Promise<void> {
    const number = ++this.shown;
    const { view, answers } = this.session;
    const [after, before] = await Promise.all([this.looked(view.right), this.looked(view.left).catch(() => null)]);
    if (number !== this.shown) return;
    if (!after) {
      this.into.replaceChildren(make("p.hint", {}, "Values are seen in TTIR and TTGIR."));
      return;
    }
    const held = await answers.held(after.compile);
    const isLast = after.compile.steps[after.step]!.state === after.compile.states.findLastIndex(hasFacts);
    if (number !== this.shown) return;
    const all = this.offered(after);
    const offered = held ? all.filter((one) => isLast && held.values[one]) : all;
    const arrays = Object.keys(held?.arrays ?? {});
    if (held && !offered.length) {
      this.into.replaceChildren(make("p.hint", {}, "This file holds what tensors of the last state of TTGIR hold, as the kernel's program 0 makes them first, and its arrays: choose its last pass of TTGIR. All others need the server."));
      return;
    }
    const name = view.value !== null && isTensor(after, bare(view.value)) ? bare(view.value) : offered.find((one) => one === this.of) ?? offered[0];
    if (name === undefined) {
      this.into.replaceChildren(make("p.hint", {}, "Click a value, `%12`, or a line that makes a tensor."));
      return;
    }
    if (name !== this.of) [this.of, this.run, this.index] = [name, 0, []];
    const choices = make("p.choices", { id: "values-of" }, ...offered.slice(0, 24).map((one) => {
      const made = button(`%${one}`, typeText(after, one), () => this.session.choose({ value: `%${one}` }));
      made.addEventListener("click", () => (this.array = null), { capture: true });
      made.setAttribute("aria-pressed", String(one === name && this.array === null));
      return made;
    }));
    if (arrays.length) choices.append(make("span.hint", {}, "arrays"), ...arrays.map((one) => {
      const made = button(one, "the kernel's array, before the run and after it", () => {
        this.array = one;
        void this.show();
      });
      made.setAttribute("aria-pressed", String(one === this.array));
      return made;
    }));
    if (this.array !== null && held?.arrays[this.array]) {
      const [first, last] = held.arrays[this.array]!;
      this.into.replaceChildren(choices, this.draw(after, last, first, "run"));
      return;
    }
    this.into.replaceChildren(choices, make("p.hint", { role: "status" }, "running on the interpreter…"));
    const ask = { name, program: this.program, run: this.run, index: this.index };
    const isOther = before !== null && before.values[name] !== undefined && (before.step !== after.step || before.compile !== after.compile);
    try {
      const [now, then] = await Promise.all([answers.values(after.compile, after.step, ask), isOther ? answers.values(before.compile, before.step, ask).catch(() => null) : null]);
      if (number === this.shown) this.into.replaceChildren(choices, this.draw(after, now, then));
    } catch (error) {
      if (number === this.shown) this.into.replaceChildren(choices, make("pre", {}, error instanceof Trouble ? error.problem.text : String(error)));
    }
  }

  private async looked(shown: Shown): Promise<Looked | null> {
    const found = await this.session.inspected(shown);
    return found && { compile: this.session.compileOf(shown), step: found.step, values: found.inspection.values, types: found.inspection.types };
  }

  /** The tensors that the chosen line makes, or else those of all lines. */
  private offered(after: Looked): string[] {
    const { place } = this.session.view;
    const state = after.compile.states[after.compile.steps[after.step]!.state]!;
    const defined = Object.entries(state.defines).flatMap(([at, names]) => names.map((name) => ({ name, place: placeOf(state, Number(at)) })));
    const tensors = defined.filter((one) => isTensor(after, one.name));
    const here = tensors.filter((one) => samePlace(one.place, place));
    return (here.length ? here : tensors).map((one) => one.name);
  }

  private draw(after: Looked, now: Values, then: Values | null, what: "pass" | "run" = "pass"): HTMLElement {
    const side = then === null ? "after" : this.side;
    const cell = make("output", { id: "cell" });
    const tools = make("p.choices", { id: "values-view" });
    if (then !== null) {
      for (const one of ["before", "after", "difference"] as const) {
        const made = button(one, one === "difference" ? "after, less before" : `${one} the ${what}`, () => {
          this.side = one;
          void this.show();
        });
        made.setAttribute("aria-pressed", String(one === side));
        tools.append(made);
      }
    }
    this.counter(tools, "program", this.program, now.programs, (value) => (this.program = value));
    if (now.runs > 1) this.counter(tools, "iteration", now.run, now.runs, (value) => (this.run = value));
    now.index.forEach((at, axis) => this.counter(tools, `axis ${axis}`, at, now.shape[axis]!, (value) => {
      this.index = [...now.index];
      this.index[axis] = value;
    }));
    const unequal = then === null ? null : distance(now, then);
    const finite = now.strange < now.shape.reduce((product, size) => product * size, 1);
    const said = [
      `${now.shape.join(" × ") || "one number"}${now.array ? `, elements of ${now.array}` : ""}${finite ? `, from ${short(now.least)} to ${short(now.most)}, mean ${short(now.mean)}` : ""}`,
      now.strange ? `${finite ? now.strange : "all"} are not finite` : "",
      part(now),
      now.of && now.of > 1 ? `the first of ${now.of} times that it is made` : "",
      then === null ? "" : unequal === null ? "before it had another shape" : unequal === 0 ? `the same before the ${what}` : `before the ${what} up to ${short(unequal)} apart`,
    ].filter(Boolean).join("; ");
    return make("section.card.wide", { id: "held" }, make("h4", {}, what === "run" ? now.name : `%${now.name}`, make("small", {}, ` ${what === "run" ? now.type : typeText(after, now.name)}`)), tools, make("p", {}, said), this.picture(now, then, side, cell), cell);
  }

  private counter(into: HTMLElement, what: string, value: number, count: number, set: (value: number) => void): void {
    if (count < 2) return;
    const field = make("input", { type: "number", min: "0", max: String(count - 1), value: String(value), "aria-label": what }) as HTMLInputElement;
    field.addEventListener("change", () => {
      set(Math.min(count - 1, Math.max(0, Math.round(Number(field.value)) || 0)));
      void this.show();
    });
    into.append(make("label", {}, `${what} `, field, ` of ${count}`));
  }

  private picture(now: Values, then: Values | null, side: Side, cell: HTMLElement): HTMLElement {
    const source = side === "before" && then !== null ? then : now;
    const comparable = then !== null && then.data.length === now.data.length;
    const data = side === "difference" && comparable ? now.data.map((one, at) => minus(one, then.data[at]!)) : source.data;
    const rows = source.rows;
    const columns = Math.max(1, data.length / rows);
    // A vector is drawn in rows of its own.
    const across = rows === 1 ? Math.min(columns, 64) : columns;
    const down = Math.ceil(data.length / across);
    const size = Math.max(2, Math.min(18, Math.floor((this.into.clientWidth - 60) / across), Math.max(4, Math.floor(420 / down))));
    const canvas = document.createElement("canvas");
    canvas.width = across * size;
    canvas.height = down * size;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${side === "difference" ? "differences of " : ""}%${now.name}, ${rows} rows of ${columns} elements`);
    const finite = data.filter((one): one is number => typeof one === "number");
    const [least, most] = finite.reduce(([low, high], one) => [Math.min(low, one), Math.max(high, one)], [Infinity, -Infinity]);
    const colour = colouring(least, most);
    const pen = canvas.getContext("2d")!;
    data.forEach((one, at) => {
      pen.fillStyle = typeof one === "number" ? colour(one) : "#d946ef";
      pen.fillRect((at % across) * size, Math.floor(at / across) * size, size, size);
    });
    canvas.addEventListener("mousemove", (event) => {
      const at = Math.floor(event.offsetY / size) * across + Math.floor(event.offsetX / size);
      if (data[at] === undefined) return;
      const [down = 1, over = 1] = source.every ?? [];
      const index = rows === 1 ? [at * over] : [...now.index, Math.floor(at / columns) * down, (at % columns) * over];
      cell.textContent = `[${index.join(", ")}] = ${String(source.data[at])}${comparable && side !== "before" ? `, before ${String(then.data[at])}` : ""}`;
    });
    const scale = make("p.choices", { id: "values-legend" }, ...(finite.length ? [0, 0.25, 0.5, 0.75, 1].map((part) => {
      const value = least + part * (most - least);
      const swatch = make("i.swatch");
      swatch.style.background = colour(value);
      return make("span", {}, swatch, ` ${short(value)}`);
    }) : []), ...(finite.length < data.length ? [pinkSwatch()] : []));
    return make("div", {}, scale, make("div.picture", {}, canvas), ...(finite.length > 1 && least < most ? [histogram(finite, least, most, colour)] : []));
  }
}

const BINS = 32;

/** How many of the numbers are in each part of their range. */
function histogram(numbers: readonly number[], least: number, most: number, colour: (value: number) => string): HTMLElement {
  const counts = new Array<number>(BINS).fill(0);
  const width = (most - least) / BINS;
  for (const one of numbers) counts[Math.min(BINS - 1, Math.floor((one - least) / width))]!++;
  const tallest = Math.max(...counts);
  const bars = counts.map((count, at) => {
    const from = least + at * width;
    const bar = make("i", { title: `${count} of ${numbers.length} from ${short(from)} to ${short(from + width)}` });
    bar.style.height = `${(100 * count) / tallest}%`;
    bar.style.background = colour(from + width / 2);
    return bar;
  });
  return make("div.histogram", { id: "histogram", role: "img", "aria-label": `histogram of ${numbers.length} numbers from ${short(least)} to ${short(most)}, at most ${tallest} in one of ${BINS} parts` }, ...bars);
}

function pinkSwatch(): HTMLElement {
  const swatch = make("i.swatch");
  swatch.style.background = "#d946ef";
  return make("span", {}, swatch, " not finite");
}

/** From blue over white to red about zero, or where all are of one sign from dark to bright. */
function colouring(least: number, most: number): (value: number) => string {
  if (least < 0 && most > 0) {
    const far = Math.max(-least, most);
    return (value) => {
      const part = Math.round(100 - (55 * Math.abs(value)) / far);
      return value < 0 ? `hsl(215 85% ${part}%)` : `hsl(8 80% ${part}%)`;
    };
  }
  const span = most - least || 1;
  return (value) => {
    const part = (value - least) / span;
    return `hsl(${265 - 205 * part} 65% ${22 + 48 * part}%)`;
  };
}

/** Which part of it is here. */
function part({ every, rows }: Values): string {
  const [down = 1, across = 1] = every ?? [];
  const parts = [...(down > 1 ? [`one of ${down} rows`] : []), ...(across > 1 ? [`one of ${across} ${rows > 1 ? "columns" : "elements"}`] : [])];
  return parts.length ? `${parts.join(" and ")} is here` : "";
}

const bare = (name: string): string => name.replace(/^%/, "");
const short = (value: number): string => (Number.isInteger(value) ? String(value) : value.toPrecision(4));

function isTensor(looked: Looked, name: string): boolean {
  const fact = looked.values[name];
  return fact !== undefined && (looked.types[fact.type]?.shape?.length ?? 0) > 0 && !looked.types[fact.type]!.text.startsWith("!ttg.memdesc");
}

function typeText(looked: Looked, name: string): string {
  const fact = looked.values[name];
  return fact ? looked.types[fact.type]!.text.replace(/, #ttg.*(?=>)/, "") : "";
}

function minus(now: number | string, then: number | string): number | string {
  if (typeof now === "number" && typeof then === "number") return now - then;
  return now === then ? 0 : now;
}

/** The largest difference of two tensors of one shape; null where they are not. */
function distance(now: Values, then: Values): number | null {
  if (now.data.length !== then.data.length) return null;
  return now.data.reduce<number>((most, one, at) => {
    const apart = minus(one, then.data[at]!);
    return Math.max(most, typeof apart === "number" ? Math.abs(apart) : Infinity);
  }, 0);
}
