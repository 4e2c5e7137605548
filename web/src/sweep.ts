// The kernel under many settings and pass orders: each is compiled, run on the emulator and checked, one after the other.
import { Trouble } from "./answers";
import { button, make, table } from "./dom";
import type { CompileRequest, Evaluated } from "./payload";
import type { Session } from "./session";

const NUMBERS = [["cycles", "cycles"], ["registers", "registers a thread"], ["spill_bytes", "bytes spilled"], ["shared_bytes", "bytes of shared memory"], ["instructions", "instructions of warps"], ["sectors", "sectors of 32 bytes"], ["bank_conflicts", "passes for bank conflicts"], ["barriers", "barriers"]] as const;
const BY_CYCLES = "cycles";

/** A configuration with what became of it, and what Triton's passes make of the same. */
interface Tried {
  title: string;
  about: string;
  asked: CompileRequest;
  ours?: Evaluated;
  tritons?: Evaluated;
}

export class SweepTab {
  private readonly status = make("span.hint", { role: "status", id: "sweep-status" });
  private readonly results = make("section.card.wide", { id: "sweep-results", tabindex: "0", "aria-label": "configurations that were tried", hidden: "" });
  /** The sweep that runs: another one, or "stop", ends it. */
  private running = 0;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly compile: (asked: CompileRequest) => Promise<unknown>,
  ) {}

  async show(): Promise<void> {
    this.running++;
    this.results.hidden = true;
    this.status.textContent = "";
    if (!this.session.answers.live) {
      this.into.replaceChildren(make("section.card.wide", { id: "sweep" }, make("h4", {}, "A sweep compiles and runs, which needs the server"), make("code", {}, this.session.compile.command ?? "minitriton explore FILE.py:kernel")));
      return;
    }
    const compile = this.session.compile;
    try {
      const { own } = await this.session.answers.sweep(compile, {}, 0);
      if (compile === this.session.compile) this.form(own);
    } catch (error) {
      this.into.replaceChildren(make("section.card", { id: "sweep" }, make("h4", {}, "Sweep"), make("pre", {}, textOf(error))));
    }
  }

  private form(own: Record<string, string>): void {
    const fields = Object.entries(own).map(([name, value]) => {
      const field = make("input", { type: "text", name: `vary-${name}`, "aria-label": `values of ${name}`, spellcheck: "false", size: "10" }) as HTMLInputElement;
      field.value = name === "num_warps" ? around(Number(value)) : value;
      return { name, field };
    });
    const orders = make("input", { type: "text", name: "pass-orders", "aria-label": "pass orders", size: "4" }) as HTMLInputElement;
    orders.value = "0";
    const triton = make("input", { type: "checkbox", name: "with-triton" }) as HTMLInputElement;
    const begin = (): void => {
      const vary = Object.fromEntries(fields.map(({ name, field }) => [name, field.value.split(/[\s,]+/).filter(Boolean)]));
      void this.begin(vary, Number(orders.value) || 0, triton.checked);
    };
    for (const field of [...fields.map((one) => one.field), orders]) field.addEventListener("keydown", (event) => { if (event.key === "Enter") begin(); });
    const start = button("Sweep", "compile, run and check every combination", begin);
    start.className = "main";
    this.into.replaceChildren(
      make("section.card.wide", { id: "sweep" },
        make("h4", {}, "Sweep: this kernel in every combination of", make("small", {}, " values apart by commas")),
        make("p.options", {}, ...fields.map(({ name, field }) => make("label", {}, `${name} `, field)), make("label", { title: "other orders of the passes, drawn at random within their contracts: some moved, left out, or run twice" }, "and pass orders ", orders)),
        make("p.choices", {}, start, make("label", { title: "the same through Triton’s own passes" }, triton, " Triton 3.6.0 next to each"), this.status)),
      this.results);
  }

  private async begin(vary: Record<string, string[]>, orders: number, withTriton: boolean): Promise<void> {
    const { answers, compile } = this.session;
    const number = ++this.running;
    this.say("looking for configurations…");
    let rows: Tried[];
    try {
      rows = (await answers.sweep(compile, vary, orders)).rows;
    } catch (error) {
      return this.say(textOf(error), true);
    }
    for (const [at, row] of rows.entries()) {
      this.say(`${at} of ${rows.length} tried`);
      this.status.append(" ", button("stop", "keep what was found", () => { this.running++; this.say(`stopped: ${at} of ${rows.length} tried`); }));
      row.ours = await tried(answers.evaluate(row.asked));
      if (number !== this.running) return;
      if (withTriton && !row.asked.pipeline) row.tritons = await tried(answers.evaluate(row.asked, "triton"));
      if (number !== this.running) return;
      this.fill(rows.slice(0, at + 1), withTriton);
    }
    const right = rows.filter((row) => row.ours?.result === "right").length;
    this.say(`${rows.length} tried, ${right} right`);
  }

  /** The rows in the order of their cycles, those that are not right last. */
  private fill(rows: readonly Tried[], withTriton: boolean): void {
    const [own] = rows;
    const cyclesOf = (row: Tried): number => (row.ours?.result === "right" ? (row.ours.numbers[BY_CYCLES] ?? row.ours.numbers.instructions ?? 0) : Infinity);
    const sorted = [...rows].sort((a, b) => cyclesOf(a) - cyclesOf(b));
    const numbers = NUMBERS.filter(([name]) => rows.some((row) => row.ours?.numbers[name]));
    const shown = (row: Tried): (string | HTMLElement)[] => {
      const mark = row === own ? "b" : "span";
      const { ours, tritons } = row;
      return [
        make(mark, { title: row.about }, row.title), make(`span.${ours?.result === "right" ? "holds" : "failed"}`, { title: ours?.reason ?? "" }, ours?.result ?? ""),
        ...numbers.map(([name]) => numberOf(ours, name, own?.ours)),
        ...(withTriton ? [numberOf(tritons, BY_CYCLES, ours)] : []),
        row === own ? "" : button("compile", row.about || "this configuration, next to the first", () => void this.compile(row.asked)),
      ];
    };
    const reasons = [...new Set(rows.flatMap((row) => (row.ours && row.ours.result !== "right" && row.ours.reason ? [`${row.title}: ${row.ours.result}, ${row.ours.reason}`] : [])))];
    this.results.replaceChildren(
      make("h4", {}, "The fewest cycles first", make("small", {}, " with the difference from this compile")),
      table(["", "result", ...numbers.map(([, text]) => text), ...(withTriton ? ["Triton’s cycles, with the difference from ours"] : []), ""], sorted.map(shown)),
      ...(reasons.length ? [make("details", {}, make("summary", {}, `${reasons.length} not right, and why`), make("pre", {}, reasons.join("\n")))] : []),
      make("p.hint", {}, "Each was run on the emulator and held against what the kernel says. Nothing was timed: cycles are those that the laboratory’s cost model expects of the whole launch. The grid follows from tile sizes."));
    this.results.hidden = false;
  }

  private say(text: string, isWrong = false): void {
    this.status.textContent = text;
    this.status.classList.toggle("failed", isWrong);
  }
}

function numberOf(found: Evaluated | undefined, name: string, base: Evaluated | undefined): HTMLElement {
  const value = found?.numbers[name];
  if (value === undefined) return make("span.hint", { title: found?.reason ?? "" }, found && found.result !== "right" ? found.result : "–");
  const before = base === found ? undefined : base?.numbers[name];
  const change = before ? Math.round((100 * (value - before)) / before) : 0;
  return make("span", {}, value.toLocaleString("en"), ...(change ? [make("small", {}, ` ${change > 0 ? "+" : "−"}${Math.abs(change)} %`)] : []));
}

/** What became of a configuration; an error is a result as well. */
async function tried(answer: Promise<Evaluated>): Promise<Evaluated> {
  try {
    return await answer;
  } catch (error) {
    return { result: "failed", reason: textOf(error), numbers: {} };
  }
}

function around(value: number): string {
  return [...new Set([Math.max(1, value / 2), value, value * 2])].join(", ");
}

function textOf(error: unknown): string {
  return error instanceof Trouble ? error.problem.text : String(error);
}
