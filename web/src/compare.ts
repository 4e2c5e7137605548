// Several compiles next to each other: what they are made of, cost and give, in one table; any two of them as text.
import { Trouble } from "./answers";
import { difference, distanceText, NUMBERS, settle } from "./costs";
import { button, make, table } from "./dom";
import { saveButton } from "./save";
import { archName, stepOf, type Compile, type Run } from "./payload";
import type { Session } from "./session";

const LEVELS = ["ttir", "ttgir", "llir", "ptx", "amdgcn"];
const MOST = 6;

export class CompareTab {
  private shown = 0;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly addTriton: () => Promise<void>,
  ) {}

  async show(): Promise<void> {
    const { session } = this;
    const number = ++this.shown;
    const compiles = session.compiles.slice(-MOST);
    const tools = make("p.choices", { id: "compare-with" });
    if ((session.answers.live || session.compile.kept?.triton) && !compiles.some(isTritons)) {
      const made = button("Triton 3.6.0", "the same program through Triton’s own passes", () => {
        made.disabled = true;
        made.textContent = "Triton compiles…";
        this.addTriton().catch((error: unknown) => made.replaceWith(make("span.failed", {}, error instanceof Trouble ? error.problem.text : String(error))));
      });
      tools.append("compare with ", made);
    }
    if (session.answers.live) tools.append(saveButton(session, () => compiles));
    if (session.answers.live) tools.append(make("span.hint", {}, "or compile a change under What if; in a terminal: "), make("code", {}, "--against '--option num_stages=1'"));
    const waiting = make("p.hint", { role: "status" }, "running and assembling each…");
    this.into.replaceChildren(make("section.card.wide", { id: "compare" }, make("h4", {}, "Compiles next to each other"), tools, this.tableOf(compiles, []), waiting));
    const found = await Promise.all(compiles.map(async (one) => ({
      run: await settle(this.runOf(one, compiles[0]!)), sass: await settle(session.answers.sass(one)), time: await settle(session.answers.timeline(one, "l2")),
    })));
    if (number !== this.shown) return;
    const runs = found.map(({ run }) => ("problem" in run ? null : run));
    const first = runs[0];
    const rows: Cells[] = [
      ...NUMBERS.map(([key, text]): Cells => [text, runs.map((run) => run?.total[key] ?? (run ? 0 : null))]),
      ["tensor-core instructions", runs.map((run) => (run ? (run.total.mix?.["tensor core"] ?? 0) : null))],
      ["registers a thread", found.map(({ sass }) => ("problem" in sass ? null : sass.resources.registers))],
      ["bytes spilled", found.map(({ sass }) => ("problem" in sass ? null : sass.resources.spilled_bytes))],
      ["bytes of shared memory a block", found.map(({ sass }) => ("problem" in sass ? null : sass.resources.shared_bytes))],
      ["warps that fit, of all (%)", found.map(({ sass }) => ("problem" in sass ? null : Math.round(100 * sass.resources.occupancy)))],
      ["cycles of a CTA, by the model", found.map(({ time }) => ("problem" in time ? null : time.cycles))],
      ...Object.keys(first?.arrays ?? {}).map((name): Cells => [`${name}, after the run`, runs.map((run, at) => (run === null ? null : at === 0 || !first ? "" : resultOf(name, run, first)))]),
    ];
    waiting.replaceWith(this.tableOf(compiles, rows.filter(([, cells]) => cells.some((one) => one !== 0 && one !== null && one !== ""))));
    this.into.querySelector("table")?.remove();
    const wrong = found.flatMap(({ run, sass }, at) => [run, sass].flatMap((one) => ("problem" in one ? [`${compiles[at]!.label ?? ""}: ${one.problem}`] : [])));
    if (wrong.length) this.into.querySelector("#compare")!.append(make("details", {}, make("summary", {}, "what is not known, and why"), make("pre", {}, [...new Set(wrong)].join("\n"))));
  }

  /** A run, with how far its arrays are from those of the first. */
  private async runOf(one: Compile, first: Compile): Promise<Run> {
    const { answers } = this.session;
    const run = await answers.run(one, one === first || one.kept ? undefined : first);
    if (one.of !== first || !answers.live || Object.values(run.arrays).some((array) => array.apart)) return run;
    const other = await answers.run(first);
    const isOther = Object.entries(run.arrays).some(([name, array]) => other.arrays[name] && other.arrays[name].digest !== array.digest);
    const apart = isOther ? await answers.apart(first) : {};
    return { ...run, arrays: Object.fromEntries(Object.entries(run.arrays).map(([name, array]) => [name, apart[name] ? { ...array, apart: apart[name] } : array])) };
  }

  private tableOf(compiles: readonly Compile[], measured: readonly Cells[]): HTMLElement {
    const count = (of: (one: Compile) => number | null): Cells[1] => compiles.map(of);
    const lines = (level: string): Cells[1] => count((one) => one.states[lastOf(one, level)]?.text.length ?? null);
    const rows: Cells[] = [
      ["target", compiles.map((one) => archName(one.arch))],
      ["passes that changed something", count((one) => one.steps.filter((step) => step.changed).length - 1)],
      ["ops of the last TTIR", count((one) => one.states[lastOf(one, "ttir")]?.ops ?? null)],
      ["ops of the last TTGIR", count((one) => one.states[lastOf(one, "ttgir")]?.ops ?? null)],
      ["lines of the last TTGIR", lines("ttgir")],
      ["lines of LLVM IR", lines("llir")],
      ["lines of PTX", lines("ptx")],
      ...measured,
    ];
    const texts = LEVELS.filter((level) => compiles.some((one) => lastOf(one, level) >= 0));
    return table(["", ...compiles.map((one, at) => `${at ? "" : "first: "}${one.label ?? one.kernel}`)], [
      ...rows.map(([text, cells]) => [text, ...cells.map((cell, at) => {
        const [base] = cells;
        if (cell === null) return make("span.hint", {}, "–");
        if (typeof cell === "string" || at === 0 || typeof base !== "number" || cell === base) return typeof cell === "number" ? cell.toLocaleString("en") : cell;
        return make("span", {}, cell.toLocaleString("en"), make("small", {}, ` ${difference(cell, base)}`));
      })]),
      ["text, with the first", ...compiles.map((one, at) => (at === 0 ? "" : make("span.choices", {}, ...texts.filter((level) => lastOf(one, level) >= 0 && lastOf(compiles[0]!, level) >= 0).map((level) => button(level, `the last ${level} of both`, () => this.showText(compiles[0]!, one, level))))))],
    ]);
  }

  /** The last states of a level of two compiles in the panes. */
  private showText(first: Compile, other: Compile, level: string): void {
    const sides = [first, other].map((one) => ({ compile: this.session.compiles.indexOf(one), state: lastOf(one, level) }));
    const [left, right] = [sides[0]!, sides[1]!];
    const step = Math.max(0, stepOf(this.session.compile, this.session.compiles[left.compile] === this.session.compile ? left.state : right.state));
    this.session.choose({ step, left, right });
  }
}

type Cells = [text: string, cells: (number | string | null)[]];

const lastOf = (compile: Compile, level: string): number => compile.states.map((one) => one.level).lastIndexOf(level);
const isTritons = (compile: Compile): boolean => compile.label?.startsWith("Triton") === true;

/** Whether an array of two runs is the same, or how far apart it is. */
function resultOf(name: string, run: Run, first: Run): string {
  const [now, then] = [run.arrays[name], first.arrays[name]];
  if (!now || !then) return "no such array";
  if (now.digest === then.digest) return "bit-equal";
  return now.apart ? distanceText(now.elements, now.apart) : "not bit-equal";
}
