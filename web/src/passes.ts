// The list of passes: time, lines that changed, verdict; found by name, those that changed nothing folded away.
import { element, make } from "./dom";
import { changedLines, type Hit } from "./finding";
import type { Session } from "./session";
import type { Step, Verdict } from "./payload";

const MARKS = { changed: "~", moved: "↕", removed: "−", added: "+" } as const;

const STAGES: Record<string, string> = { ttir: "TTIR", ttgir: "TTGIR", "llvm dialect": "LLVM dialect", llir: "LLVM IR", ptx: "PTX", amdgcn: "AMDGCN" };

export class PassList {
  private readonly list = element("passes");
  private readonly filter = element("filter") as HTMLInputElement;
  private readonly unchanged = element("unchanged") as HTMLInputElement;
  private verdicts: (Verdict | null)[] = [];
  /** What was found: passes, and lines of theirs. */
  private hits: (Hit | { step: number })[] = [];
  private lines: Hit[] = [];
  private wanted = "";
  private at = -1;
  /** What the list was made from. */
  private listed: { steps: Step[] | null; verdicts: (Verdict | null)[]; seen: number[]; lines: Hit[] } = { steps: null, verdicts: [], seen: [], lines: [] };

  constructor(
    private readonly session: Session,
    private readonly onFound: (hit: Hit) => void,
  ) {
    for (const kind of ["input", "change"]) this.filter.addEventListener(kind, () => this.find());
    this.filter.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.filter.blur();
      if (event.key === "Enter") this.goOn(event.shiftKey ? -1 : 1);
    });
    this.unchanged.addEventListener("change", () => this.show());
    this.list.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      this.next(event.key === "ArrowDown" ? 1 : -1);
    });
  }

  /** Looks for what was typed: in lines that passes put in or took out, in their names, and where no line has it in their documentation. */
  find(isOther = false): void {
    const wanted = this.filter.value.trim().toLowerCase();
    if (wanted === this.wanted && !isOther) return;
    this.wanted = wanted;
    const { compile } = this.session;
    const lines = wanted.length < 2 ? [] : changedLines(compile, stem(wanted));
    const passes = (has: (one: Step) => string): number[] => compile.steps.flatMap((one, at) => (wanted && has(one).toLowerCase().includes(wanted) ? [at] : []));
    const named = passes((one) => one.text);
    this.lines = lines;
    this.hits = [...lines, ...named.map((step) => ({ step })), ...(lines.length ? [] : passes((one) => one.doc).filter((at) => !named.includes(at)).map((step) => ({ step })))];
    this.at = -1;
    this.sayFound();
    this.show();
  }

  /** The next place that was found, after the last one the first again. */
  private goOn(by: 1 | -1): void {
    const hit = this.hits[(this.at = (this.at + by + this.hits.length) % Math.max(1, this.hits.length))];
    if (!hit) return;
    if ("line" in hit) this.onFound(hit);
    else this.session.choose({ step: hit.step });
    this.sayFound();
  }

  private sayFound(): void {
    const count = this.hits.length;
    const hit = this.hits[this.at];
    const becomes = hit && "line" in hit && hit.becomes ? `${hit.becomes}, which becomes ${this.wanted}, ` : "";
    const what = hit && "line" in hit ? `${becomes}${hit.side === "right" ? "put in by" : "taken out by"}` : "pass";
    element("found").textContent = !this.filter.value.trim() ? "" : !count ? "nothing found" : hit ? `${this.at + 1} of ${count}: ${what} ${this.session.compile.steps[hit.step]!.name}` : `${count} found: Enter goes there`;
  }

  showVerdicts(verdicts: (Verdict | null)[]): void {
    this.verdicts = verdicts;
    this.show();
  }

  /** The verdict on a step, where there is one by now. */
  verdictOf(step: number): Verdict | null {
    return this.verdicts[step] ?? null;
  }

  show(): void {
    const wanted = this.filter.value.trim().toLowerCase();
    const { compile, view } = this.session;
    const seen = compile.steps.flatMap((one, at) => {
      const isSeen = one.changed || one.edit || one.error !== null || this.unchanged.checked || at === view.step || this.verdicts[at]?.ok === false;
      return isSeen && (wanted === "" || this.hits.some((hit) => hit.step === at)) ? [at] : [];
    });
    const { steps, verdicts, seen: before, lines } = this.listed;
    if (steps !== compile.steps || verdicts !== this.verdicts || lines !== this.lines || before.join() !== seen.join()) {
      this.listed = { steps: compile.steps, verdicts: this.verdicts, seen, lines: this.lines };
      this.list.replaceChildren(...this.rows(seen));
    }
    this.list.setAttribute("aria-activedescendant", `step-${view.step}`);
    for (const item of this.items) item.setAttribute("aria-selected", String(item.id === `step-${view.step}`));
    // With the frame, when the page is laid out anyway.
    requestAnimationFrame(() => {
      const { scrollX, scrollY } = window;
      document.getElementById(`step-${this.session.view.step}`)?.scrollIntoView({ block: "nearest" });
      // A narrow page is higher than the window: it stays where the reader has it.
      if (!this.list.contains(document.activeElement)) window.scrollTo(scrollX, scrollY);
    });
  }

  next(direction: 1 | -1): void {
    const shown = this.items.map((item) => Number(item.id.slice(5)));
    const next = shown[shown.indexOf(this.session.view.step) + direction];
    if (next !== undefined) this.session.choose({ step: next });
  }

  focusFilter(): void {
    this.filter.focus();
  }

  toggleUnchanged(): void {
    this.unchanged.click();
  }

  private get items(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>("li")];
  }

  /** The passes by the representation that they leave, each with the time that its passes took, those that are not shown too. */
  private rows(seen: readonly number[]): HTMLElement[] {
    const { steps, states } = this.session.compile;
    const levelOf = (at: number): string => states[steps[at]!.state]!.level;
    const milliseconds = new Map<string, number>();
    steps.forEach((one, at) => milliseconds.set(levelOf(at), (milliseconds.get(levelOf(at)) ?? 0) + one.ms));
    return seen.flatMap((at, place) => {
      const level = levelOf(at);
      const row = this.row(steps[at]!, at);
      if (place && levelOf(seen[place - 1]!) === level) return [row];
      return [make("div.stage", { role: "presentation" }, make("span", {}, STAGES[level] ?? level), make("span.ms", {}, `${milliseconds.get(level)!.toFixed(0)} ms`)), row];
    });
  }

  private row(one: Step, at: number): HTMLElement {
    const before = this.session.compile.steps[Math.max(0, at - 1)]!;
    const { states } = this.session.compile;
    const ops = [states[before.state]?.ops, states[one.state]?.ops];
    const counts = Object.entries(MARKS).flatMap(([kind, mark]) => {
      const count = one.counts[kind as keyof typeof MARKS];
      return count ? [make(`span.k-${kind}`, {}, `${mark}${count}`)] : [];
    });
    if (one.changed && at && ops[0] && ops[1] && ops[0] !== ops[1]) counts.push(make("span.ops", {}, `${ops[0]} → ${ops[1]} ops`));
    const found = this.lines.filter((hit) => hit.step === at);
    if (found.length) {
      const [put, taken] = [found.filter((hit) => hit.side === "right").length, found.filter((hit) => hit.side === "left").length];
      const made = make("span.link", { title: "lines with it that this pass put in and took out; Enter in the field goes through them" }, `${put ? `+${put}` : ""}${put && taken ? " " : ""}${taken ? `−${taken}` : ""} ${this.filter.value.trim()}`);
      made.addEventListener("click", (event) => {
        event.stopPropagation();
        this.onFound(found[0]!);
      });
      counts.push(made);
    }
    const verdict = this.verdicts[at];
    const item = make(
      `li.${one.changed || one.edit ? "step" : "idle"}${one.error === null && verdict?.ok !== false ? "" : ".failed"}`,
      { id: `step-${at}`, role: "option", title: one.text },
      make("span.name", {}, one.name),
      verdict ? make(`span.verdict.${verdict.ok ? "holds" : "broken"}`, { title: verdict.why || verdict.verdict }, sign(verdict)) : make("span.verdict", {}, ""),
      make("span.ms", {}, `${one.ms.toFixed(one.ms < 10 ? 2 : 0)} ms`),
      make("span.counts", {}, ...counts),
    );
    item.addEventListener("click", () => this.session.choose({ step: at }));
    return item;
  }
}

function sign(verdict: Verdict): string {
  if (!verdict.ok) return "✗";
  return verdict.verdict === "unchanged" ? "·" : verdict.verdict === "not executable" ? "?" : "✓";
}

/** A word without its ending: "swizzle" is in `swizzlingByteWidth`, too. */
function stem(word: string): string {
  return word.length > 5 ? word.replace(/(ing|ed|es|e|s)$/, "") : word;
}
