// Which elements of an array a load or store touches, by program and warp.
import { Trouble } from "./answers";
import { make } from "./dom";
import type { Access, Inspection, Pattern } from "./payload";
import type { Session } from "./session";

const MOST_CELLS = 1 << 15;
const MOST_NAMED = 8;

const colourOf = (number: number, isAgain: boolean): string => `hsl(${(number * 137.5) % 360} 65% ${isAgain ? 40 : 60}%)`;

export class AccessTab {
  private by: "warp" | "program" = "program";

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
  ) {}

  /** Of the last `show`: what an earlier one was still waiting for must not cover its drawing. */
  private shown = 0;

  async show(): Promise<void> {
    const number = ++this.shown;
    const found = await this.lastInspected();
    if (number !== this.shown) return;
    if (!found) {
      this.into.replaceChildren(make("p.hint", {}, "Accesses are known of TTGIR."));
      return;
    }
    const { inspection, step } = found;
    const all = Object.entries(inspection.accesses);
    const chosen = this.chosen(inspection) ?? all[0]?.[0];
    if (chosen === undefined) {
      this.into.replaceChildren(make("p.hint", {}, "This kernel reaches memory through no tensor of pointers."));
      return;
    }
    const choices = make("p.choices", {}, ...all.map(([op, one], at) => {
      const line = (one as typeof one & { line?: [number, number] | null }).line;
      const alike = all.slice(0, at).filter(([, other]) => titleOf(other) === titleOf(one)).length;
      const made = make("button", { type: "button", "aria-pressed": String(op === chosen), title: `${one.name} by ${one.pointer}, ${one.width * one.bytes} bytes at a time` }, `${titleOf(one)}${alike ? `, again (${alike + 1})` : ""}`);
      made.addEventListener("click", () => this.session.choose({ op: Number(op), place: line ? { file: line[0], line: line[1] } : null, value: null }));
      return made;
    }));
    this.into.replaceChildren(choices, make("p.hint", { role: "status" }, "running on the interpreter…"));
    try {
      const pattern = await this.session.answers.pattern(this.session.compile, step, Number(chosen));
      if (number === this.shown) this.into.replaceChildren(choices, this.draw(pattern));
    } catch (error) {
      if (number === this.shown) this.into.replaceChildren(choices, make("pre", {}, error instanceof Trouble ? error.problem.text : String(error)));
    }
  }

  /** The last state of TTGIR of the compile that is shown. */
  private async lastInspected(): Promise<{ inspection: Inspection; step: number } | null> {
    const { compile, view } = this.session;
    const state = compile.states.map((one) => one.level).lastIndexOf("ttgir");
    return state < 0 ? null : this.session.inspected({ compile: view.compile, state });
  }

  private chosen(inspection: Inspection): string | undefined {
    const { op, place } = this.session.view;
    if (inspection.accesses[op]) return String(op);
    return Object.entries(inspection.accesses).find(([, one]) => {
      const line = (one as typeof one & { line?: [number, number] | null }).line;
      return place && line?.[0] === place.file && line[1] === place.line;
    })?.[0];
  }

  private draw(pattern: Pattern): HTMLElement {
    const cell = make("output", { id: "cell" });
    const canvas = document.createElement("canvas");
    const columns = widthOf(pattern);
    const touched = new Map<number, { program: number; warp: number; times: number }>();
    // A program's runs of the op, in a loop, have one colour.
    const programs = [...new Map(pattern.programs.map((one) => [one.program.join(", "), one])).keys()];
    pattern.programs.forEach((one) => {
      const program = programs.indexOf(one.program.join(", "));
      one.offsets.forEach((offset, at) => {
        if (offset === null) return;
        const before = touched.get(offset);
        if (before) before.times++;
        else touched.set(offset, { program, warp: one.warps[at] ?? 0, times: 1 });
      });
    });
    const last = Math.min(pattern.elements, Math.max(0, ...touched.keys()) + 1, MOST_CELLS);
    const rows = Math.max(1, Math.ceil(last / columns));
    const size = Math.max(2, Math.min(14, Math.floor((this.into.clientWidth - 60) / columns)));
    canvas.width = columns * size;
    canvas.height = rows * size;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `elements of ${pattern.array} that ${pattern.name} touches`);
    const legend = make("p.choices", { id: "access-legend" });
    const paint = (): void => {
      const count = this.by === "warp" ? 1 + Math.max(0, ...[...touched.values()].map((one) => one.warp)) : programs.length;
      legend.replaceChildren(...Array.from({ length: Math.min(count, MOST_NAMED) }, (_, at) => {
        const swatch = make("i.swatch");
        swatch.style.background = colourOf(at, false);
        return make("span", {}, swatch, ` ${this.by} ${this.by === "warp" ? at : programs[at]!}`);
      }), ...(count > MOST_NAMED ? [`and ${count - MOST_NAMED} more`] : []), "darker: touched more than once; grey: not touched");
      const pen = canvas.getContext("2d")!;
      pen.clearRect(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < last; at++) {
        const one = touched.get(at);
        pen.fillStyle = one ? colourOf(this.by === "warp" ? one.warp : one.program, one.times > 1) : "#8882";
        pen.fillRect((at % columns) * size, Math.floor(at / columns) * size, size - (size > 3 ? 1 : 0), size - (size > 3 ? 1 : 0));
      }
    };
    paint();
    canvas.addEventListener("mousemove", (event) => {
      const at = Math.floor(event.offsetY / size) * columns + Math.floor(event.offsetX / size);
      const one = touched.get(at);
      cell.textContent = one ? `${pattern.array}[${at}]: program ${programs[one.program] ?? ""}, warp ${one.warp}${one.times > 1 ? `, ${one.times} times` : ""}` : `${pattern.array}[${at}]: not touched`;
    });
    const choices = make("p.choices", {}, "colour by ");
    for (const by of ["program", "warp"] as const) {
      const made = make("button", { type: "button", "aria-pressed": String(by === this.by) }, by);
      made.addEventListener("click", () => {
        this.by = by;
        paint();
        for (const other of choices.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === made));
      });
      choices.append(made);
    }
    const text = `${touched.size} elements of ${pattern.bytes} bytes touched by ${programs.length} programs, in ${pattern.programs.length} runs of the op; rows of ${columns} elements`;
    return make("section.card.wide", { id: "pattern" }, make("h4", {}, `${pattern.name} of ${pattern.array}`), make("p", {}, text), choices, legend, cell, make("div.picture", {}, canvas));
  }
}

/** "a_ptr read, line 32": which access it is, in words. */
function titleOf(one: Access): string {
  const does = one.name.includes("store") ? "written" : one.name.includes("async") ? "copied to shared memory" : "read";
  const { line } = one as Access & { line?: [number, number] | null };
  return `${one.array || one.pointer} ${does}${line ? `, line ${line[1]}` : ""}`;
}

/** Elements a row: the stride of the access's second axis where it has one, else 64. */
function widthOf(pattern: Pattern): number {
  const first = pattern.programs[0]?.offsets.filter((one): one is number => one !== null) ?? [];
  const sorted = [...new Set(first)].sort((a, b) => a - b);
  const jump = sorted.map((one, at) => one - (sorted[at - 1] ?? one)).find((step) => step > 1);
  const start = jump === undefined ? undefined : sorted.findIndex((one, at) => at > 0 && one - sorted[at - 1]! > 1);
  const stride = start !== undefined && start > 0 ? sorted[start]! - sorted[0]! : 64;
  return Math.max(16, Math.min(256, stride));
}
