// The guided tour and the exercises: each stop is a view of the explorer, each answer a state of it, checked on the emulator.
import { Trouble, type Exercise, type Lessons, type Stop, type Walk } from "./answers";
import { button, make, withCode } from "./dom";
import { placeOf, type CompileRequest } from "./payload";
import { askedOf, type Session } from "./session";
import { kernelFile } from "./sides";
import { onePassALine, type WhatIfTab } from "./whatif";

export class LearnTab {
  private lessons: Lessons | null = null;
  private walk: { walk: Walk; stop: number } | null = null;
  private exercise: Exercise | null = null;
  private begunAt = 0;
  private readonly solved = new Set<string>(remembered());

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly whatIf: WhatIfTab,
    /** Brings a line of the state at the right into sight. */
    private readonly reveal: (line: number) => void,
  ) {}

  async show(): Promise<void> {
    this.lessons ??= await this.session.answers.lessons();
    if (this.walk) this.showStop(this.walk.walk, this.walk.stop);
    else if (this.exercise && !this.session.answers.live) this.showRecorded(this.exercise);
    else if (this.exercise) this.showExercise(this.exercise);
    else this.showList(this.lessons);
  }

  private showList(lessons: Lessons): void {
    const grades = ["", "easy", "harder", "hard"];
    this.into.replaceChildren(
      make("section.card", { id: "tour" }, make("h4", {}, "Tour: from Python to PTX"), ...lessons.tour.map((walk) => make("p", {}, button(walk.title, "begin", () => void this.go(walk, 0))))),
      make("section.card", { id: "exercises" }, make("h4", {}, `Exercises, ${this.solved.size} of ${lessons.exercises.length} solved`), ...lessons.exercises.map((one) => {
        const isHere = this.session.answers.live || one.recorded !== undefined;
        const made = button(`${this.solved.has(one.name) ? "✓ " : ""}${one.title}`, one.task, () => void this.begin(one));
        made.dataset.exercise = one.name;
        return make("p", {}, made, make("small", {}, ` ${grades[one.grade] ?? ""}${isHere ? "" : ", to be solved with the server"}`));
      }), ...(this.session.answers.live ? [] : [make("p.hint", { id: "needs-server" }, `This page is a file: ${lessons.exercises.filter((one) => one.recorded).length} exercises have answers to choose from, which were checked on the emulator when it was written. Answers to the others are edits that must be compiled and run: that needs the server, `, make("code", {}, "minitriton explore FILE.py:kernel"), ".")])),
    );
  }

  /** Opens the program of a lesson, or goes to where it is open already. */
  private async open(asked: CompileRequest, label: string): Promise<number> {
    const known = this.session.compiles.findIndex((one) => one.label === label);
    if (known >= 0) return known;
    const made = await this.session.answers.compile(asked);
    made.label = label;
    return this.session.add(made);
  }

  private async go(walk: Walk, at: number): Promise<void> {
    const stop = walk.stops[at];
    if (!stop) return;
    this.walk = { walk, stop: at };
    try {
      this.look(await this.open(walk.asked, `tour: ${walk.title}`), stop);
    } catch (error) {
      this.say(error);
    }
  }

  /** Shows what a stop names. The tour's own words stay above the other tabs. */
  private look(compile: number, stop: Stop): void {
    const shown = this.session.compiles[compile]!;
    const wanted = shown.steps.findIndex((one) => one.name === stop.step);
    const level = shown.states.map((one) => one.level).lastIndexOf(stop.level);
    const step = wanted >= 0 ? wanted : shown.steps.findIndex((one) => one.state === level);
    const state = shown.states[shown.steps[Math.max(0, step)]!.state]!;
    const file = kernelFile(shown);
    const line = (shown.sources[String(file)] ?? "").split("\n").findIndex((text, number) => stop.line !== "" && text.includes(stop.line) && inKernel(shown, file, number + 1));
    const place = line >= 0 ? { file, line: line + 1 } : null;
    const lines = state.text.flatMap((text, number) => (stop.op && text.includes(stop.op) ? [number] : []));
    const row = lines.find((number) => place !== null && state.file[number] === file && state.line[number] === place.line) ?? lines[0];
    const value = row === undefined ? null : (state.defines[String(row)]?.[0] ?? state.uses[String(row)]?.[0] ?? null);
    this.session.choose({
      compile, step: Math.max(0, step), tab: stop.tab, op: row === undefined ? 0 : (state.op[row] ?? 0),
      value: value === null ? null : `%${value}`, place: place ?? (row === undefined ? null : placeOf(state, row)),
    });
    if (row !== undefined) this.reveal(row);
    this.banner();
  }

  /** The words of the tour, over the drawer, whatever tab is shown. */
  private banner(): void {
    const place = document.getElementById("lesson")!;
    if (!this.walk) {
      place.hidden = true;
      return;
    }
    const { walk, stop } = this.walk;
    const one = walk.stops[stop]!;
    place.hidden = false;
    const next = walk.stops[stop + 1];
    place.replaceChildren(
      make("b", {}, `${stop + 1}/${walk.stops.length} ${one.title}. `),
      ...withCode(one.text),
      make("span.choices", {},
        ...(stop ? [button("back", "the stop before", () => void this.go(walk, stop - 1))] : []),
        next ? button("next", next.title, () => void this.go(walk, stop + 1)) : button("another kernel", "the list", () => this.end()),
        button("end", "leave the tour", () => this.end())),
    );
  }

  private end(): void {
    this.walk = this.exercise = null;
    this.banner();
    this.session.choose({ tab: "learn" });
  }

  private showStop(walk: Walk, at: number): void {
    this.into.replaceChildren(make("section.card", {}, make("h4", {}, walk.title), ...walk.stops.map((one, number) => {
      const made = button(`${number + 1}. ${one.title}`, one.text, () => void this.go(walk, number));
      made.setAttribute("aria-pressed", String(number === at));
      return make("p", {}, made);
    })));
    this.banner();
  }

  private async begin(exercise: Exercise): Promise<void> {
    this.exercise = exercise;
    if (!this.session.answers.live) return this.showRecorded(exercise);
    try {
      // A pipeline that is refused cannot be opened: the program is, and the pipeline is in the editor.
      const asked = exercise.pipeline ? { ...exercise.asked, edits: [] } : exercise.asked;
      const compile = await this.open(asked, `exercise: ${exercise.title}`);
      const step = this.session.compiles[compile]!.steps.findIndex((one) => one.name === "tritongpu-coalesce");
      this.begunAt = this.session.compiles.length;
      this.session.choose({ compile, step: Math.max(0, step), tab: "learn", value: null, op: 0, place: null });
      if (exercise.pipeline) this.whatIf.preset("pipeline", onePassALine(exercise.pipeline));
    } catch (error) {
      this.say(error);
    }
  }

  private showExercise(exercise: Exercise): void {
    const words = make("input", { type: "text", size: "60", id: "answer", "aria-label": "your answer" }) as HTMLInputElement;
    const said = make("div", { id: "graded", role: "status" });
    const wants: Record<string, string> = {
      kernel: "Edit the kernel under What if (key 5), compile, and come back.", options: "Change the options under What if (key 5), compile, and come back.",
      passes: "Move passes: under What if (key 5), edit the passes, and compile; then come back.", ir: "Edit the IR at the right under What if (key 5), compile, and come back.", words: "Write your answer here:",
    };
    const check = button("Check", "on the emulator", () => void this.check(exercise, words.value, said));
    check.id = "check-answer";
    this.into.replaceChildren(
      make("section.card.wide", { id: "exercise" },
        make("h4", {}, exercise.title),
        make("p", {}, ...withCode(exercise.task)),
        make("details", {}, make("summary", {}, "a hint"), ...withCode(exercise.hint)),
        make("p.hint", {}, wants[exercise.wants] ?? ""),
        make("p.choices", {}, exercise.wants === "words" ? words : null, check, button("another", "the list", () => this.end())),
        said),
    );
  }

  /** An exercise in a file: answers to choose from with what the checks said of them, or that it needs the server. */
  private showRecorded(exercise: Exercise): void {
    const said = make("div", { id: "graded", role: "status" });
    const choices = (exercise.recorded ?? []).map((one) => {
      const made = button(one.title, "as checked on the emulator when this file was written", () => {
        for (const other of choices) other.setAttribute("aria-pressed", String(other === made));
        this.showSaid(said, one, exercise);
      });
      made.dataset.answer = one.title;
      made.setAttribute("aria-pressed", "false");
      return made;
    });
    const source = String(exercise.asked.source).split("/").at(-1)!;
    this.into.replaceChildren(
      make("section.card.wide", { id: "exercise" },
        make("h4", {}, exercise.title),
        make("p", {}, ...withCode(exercise.task)),
        make("details", {}, make("summary", {}, "a hint"), ...withCode(exercise.hint)),
        choices.length
          ? make("p.hint", {}, "What the emulator said of each answer was recorded:")
          : make("p.hint", { id: "needs-server" }, `The answer is an edit of ${source}, which must be compiled and run. This page is a file and cannot: open any kernel by `, make("code", {}, "minitriton explore FILE.py:kernel"), " and choose Learn (key 6)."),
        make("p.choices", {}, ...choices, button("another", "the list", () => this.end())),
        said),
    );
  }

  private showSaid(into: HTMLElement, found: { ok: boolean; said: readonly string[] }, exercise: Exercise): void {
    into.replaceChildren(...found.said.map((line) => make(`p.${line.startsWith("✓") ? "holds" : "failed"}`, {}, line)), ...(found.ok ? this.afterSolved(exercise) : []));
  }

  /** Why the answer works, and what to do next; the browser remembers what was solved. */
  private afterSolved(exercise: Exercise): HTMLElement[] {
    this.solved.add(exercise.name);
    try {
      localStorage.setItem(SOLVED, JSON.stringify([...this.solved]));
    } catch {
      // A browser that keeps nothing: it is remembered as long as the page is open.
    }
    const all = this.lessons?.exercises ?? [];
    const next = [...all.slice(all.indexOf(exercise) + 1), ...all].find((one) => !this.solved.has(one.name));
    return [make("p", { id: "explains" }, make("b", {}, "Solved. "), ...withCode(exercise.explains)), ...(next ? [make("p.choices", {}, button(`Next: ${next.title}`, next.task, () => void this.begin(next)))] : [])];
  }

  private async check(exercise: Exercise, text: string, said: HTMLElement): Promise<void> {
    said.textContent = "checking…";
    // What was compiled since the exercise was begun is the answer; before that, the exercise as it is given.
    const { compile, view } = this.session;
    const isAnswer = view.compile >= this.begunAt || (!exercise.pipeline && askedOf(compile).source === exercise.asked.source);
    const asked = isAnswer ? askedOf(compile) : exercise.asked;
    try {
      const found = await this.session.answers.exercise(exercise.name, asked, text);
      this.showSaid(said, found, exercise);
    } catch (error) {
      said.textContent = error instanceof Trouble ? error.problem.text : String(error);
    }
  }

  private say(error: unknown): void {
    this.into.replaceChildren(make("pre", {}, error instanceof Trouble ? error.problem.text : String(error)), button("back", "the list", () => this.end()));
  }
}

const SOLVED = "minitriton-solved";

function remembered(): string[] {
  try {
    return JSON.parse(localStorage.getItem(SOLVED) ?? "[]") as string[];
  } catch {
    return [];
  }
}

/** Whether a line of a file is one that the IR comes from: files of lessons hold several kernels. */
function inKernel(compile: { states: { file: number[]; line: number[] }[] }, file: number, line: number): boolean {
  return compile.states[0]!.line.some((one, at) => one === line && compile.states[0]!.file[at] === file);
}
