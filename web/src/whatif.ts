// Changing the kernel, the IR at a stage, options or the passes, and compiling anew; each state with its link and command line.
import { Trouble } from "./answers";
import { differences } from "./bar";
import { button, element, make, sayTrouble, table } from "./dom";
import { Editor } from "./editor";
import { assemblyLanguage, pythonLanguage } from "./languages";
import { InputFields } from "./inputs";
import { saveButton } from "./save";
import { baseName, stepOf, type CompileRequest, type Compile } from "./payload";
import { askedOf, type Session } from "./session";
import { kernelFile } from "./sides";
import { isPython, showSignature, signatureField, withSignature } from "./signature";

/** What is offered: others may be typed. */
const ARCHITECTURES = ["80", "89", "90", "100", "120", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"];

type What = "kernel" | "ir" | "pipeline";

export class WhatIfTab {
  private what: What = "kernel";
  private editor: Editor | null = null;
  private editedStep = 0;
  private readonly status = make("p.status", { role: "status", id: "status" });
  private readonly changes = make("div", { id: "changes" });
  private readonly options: Record<string, HTMLInputElement> = {};
  private readonly signature = signatureField();
  private readonly inputs: InputFields;
  private shownFor = "";
  private busy = false;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
  ) {
    this.inputs = new InputFields(session.answers, () => void this.compileText());
  }

  show(): void {
    if (!this.session.answers.live) {
      this.into.replaceChildren(make("section.card.wide", {}, make("h4", {}, "Changing and compiling anew needs the server"), make("p", {}, "The same compile, to be changed:"), make("code", {}, this.session.compile.command ?? "minitriton explore FILE.py:kernel")));
      return;
    }
    if (!this.editor) this.build();
    const key = `${this.what} ${this.session.view.compile} ${this.what === "ir" ? this.stepOfRight() : ""}`;
    if (key !== this.shownFor) {
      this.shownFor = key;
      this.fill();
    }
    this.showChanges();
  }

  /** Goes to an editor with a text in it, such as a pipeline that is refused. */
  preset(what: What, text: string): void {
    this.what = what;
    this.session.choose({ tab: "whatif" });
    this.fill();
    this.editor?.show(text, null);
    for (const one of this.into.querySelectorAll<HTMLElement>("button[data-what]")) one.setAttribute("aria-pressed", String(one.dataset.what === what));
  }

  /** Puts the keyboard into the editor. */
  focus(): void {
    this.session.choose({ tab: "whatif" });
    this.editor?.focus();
  }

  private build(): void {
    const kinds: [What, string][] = [["kernel", "the kernel"], ["ir", "the IR at the right"], ["pipeline", "the passes"]];
    const choices = make("p.choices", {}, "edit ");
    for (const [what, text] of kinds) {
      const made = button(text, `edit ${text}`, () => {
        this.what = what;
        for (const other of choices.querySelectorAll("button[data-what]")) other.setAttribute("aria-pressed", String(other === made));
        this.show();
      });
      made.dataset.what = what;
      made.setAttribute("aria-pressed", String(what === this.what));
      choices.append(made);
    }
    const compile = button("Compile", "Ctrl-Enter", () => void this.compileText());
    compile.className = "main";
    choices.append(compile);
    const numbers = make("p.options", {}, ...["num_warps", "num_stages", "num_ctas", "arch", "grid"].map((name) => {
      const input = make("input", { type: "text", size: "5", "aria-label": name, name, ...(name === "arch" ? { list: "architectures", title: "an NVIDIA GPU by its compute capability times ten (90), an AMD GPU by its name (gfx942)" } : {}) }) as HTMLInputElement;
      input.addEventListener("keydown", (event) => { if (event.key === "Enter") void this.compileText(); });
      this.options[name] = input;
      return make("label", {}, `${name} `, input);
    }));
    this.signature.addEventListener("keydown", (event) => { if (event.key === "Enter") void this.compileText(); });
    const types = isPython(askedOf(this.session.compile)) ? make("p.options", {}, make("label", {}, "signature ", this.signature)) : null;
    const place = make("div.editor", { id: "editor" });
    const architectures = make("datalist", { id: "architectures" }, ...ARCHITECTURES.map((name) => make("option", { value: name })));
    this.into.replaceChildren(make("div.whatif", {}, make("div", {}, architectures, choices, numbers, types, this.inputs.view, place), make("div.side", {}, this.status, this.changes)));
    this.editor = new Editor(place, () => void this.compileText());
  }

  private stepOfRight(): number {
    const { right } = this.session.view;
    return stepOf(this.session.compileOf(right), right.state);
  }

  private fill(): void {
    const compile = this.session.compile;
    for (const [name, input] of Object.entries(this.options)) {
      const asked = askedOf(compile);
      input.value = String(name === "arch" ? compile.arch : name === "grid" ? (asked.grid ?? "") : (compile.options?.[name] ?? ""));
    }
    showSignature(this.signature, askedOf(compile), compile.made_up);
    void this.inputs.show(compile);
    if (this.what === "kernel") this.editor!.show(compile.sources[String(kernelFile(compile))] ?? "", pythonLanguage);
    else if (this.what === "pipeline") this.editor!.show(onePassALine(compile.pipeline), null);
    else {
      this.editedStep = this.stepOfRight();
      this.editor!.show(this.session.stateOf(this.session.view.right).text.join("\n"), assemblyLanguage);
    }
  }

  /** Compiles with the text of the editor. */
  private async compileText(): Promise<void> {
    const compile = this.session.compile;
    const asked = this.withOptions({ ...askedOf(compile) }, compile);
    const text = this.editor!.text;
    if (this.what === "kernel") {
      if (text !== compile.sources[String(kernelFile(compile))]) asked.kernel_text = text;
    } else if (this.what === "pipeline") {
      const pipeline = text.replaceAll(/\s*\n\s*/g, "");
      if (pipeline !== compile.pipeline) {
        asked.pipeline = pipeline;
        delete asked.edits;
      }
    } else {
      const after = this.passesBefore(compile, this.editedStep);
      if (text !== compile.states[compile.steps[this.editedStep]!.state]!.text.join("\n")) asked.states = [...(asked.states ?? []).filter((one) => one.after < after), { after, text }];
    }
    await this.compile(asked);
  }

  /** Compiles on from `text`, in the place of the state that a step of the shown compile left. */
  async compileState(step: number, text: string): Promise<boolean> {
    const compile = this.session.compile;
    const after = this.passesBefore(compile, step);
    const asked = { ...askedOf(compile) };
    asked.states = [...(asked.states ?? []).filter((one) => one.after < after), { after, text }];
    const isMade = await this.compile(asked, after, "edited");
    const { steps } = this.session.compile;
    const edited = steps.map((one) => one.edit).lastIndexOf(true);
    if (isMade && edited >= 0 && steps.every((one) => one.error === null)) this.session.choose({ step: edited });
    return isMade;
  }

  /** How many passes a step and those before it are: steps that are edits are none. */
  private passesBefore(compile: Compile, step: number): number {
    return compile.steps.slice(1, step + 1).filter((one) => !one.edit).length;
  }

  private withOptions(asked: CompileRequest, compile: Compile): CompileRequest {
    const given = new Map((asked.options ?? []).map((one) => [one.split("=")[0]!, one]));
    for (const [name, input] of Object.entries(this.options)) {
      const value = input.value.trim();
      if (name === "arch") {
        if (value && value !== String(compile.arch)) asked.arch = /^\d+$/.test(value) ? Number(value) : value;
      } else if (name === "grid") {
        if (value) asked.grid = value;
        else delete asked.grid;
      } else if (value && value !== String(compile.options?.[name] ?? "")) given.set(name, `${name}=${value}`);
    }
    if (given.size) asked.options = [...given.values()];
    return this.inputs.read(withSignature(asked, this.signature));
  }

  /** Skips or moves a pass of the shown compile. */
  async editPass(change: "skip" | "up" | "down", step: number): Promise<void> {
    const compile = this.session.compile;
    const passes = compile.steps.map((one, at) => ({ one, at })).filter(({ one, at }) => at > 0 && !one.edit);
    const place = passes.findIndex(({ at }) => at === step);
    const other = change === "skip" ? undefined : passes[place + (change === "up" ? -1 : 1)];
    if (place < 0 || (change !== "skip" && !other)) return;
    const name = (at: number): string => {
      const called = passes[at]!.one.name;
      const count = passes.slice(0, at + 1).filter(({ one }) => one.name === called).length;
      return passes.filter(({ one }) => one.name === called).length > 1 ? `${called}#${count}` : called;
    };
    const edit: [string, string] = change === "skip" ? ["skip", name(place)] : ["move", `${name(place)} ${change === "up" ? "before" : "after"} ${name(place + (change === "up" ? -1 : 1))}`];
    const asked = { ...askedOf(compile) };
    asked.edits = [...(asked.edits ?? []), edit];
    await this.compile(asked, step);
  }

  /** Shows the compile of `asked`, which may be there already. */
  async open(asked: CompileRequest): Promise<boolean> {
    const { compiles, view } = this.session;
    const known = compiles.findIndex((one) => one.asked !== undefined && areAlike(one.asked, asked));
    if (known < 0) return this.compile(asked);
    sayTrouble("");
    this.session.choose({ compile: known, step: Math.min(view.step, compiles[known]!.steps.length - 1) });
    return true;
  }

  /** Compiles and shows; what is refused is said, and what was shown stays. */
  async compile(asked: CompileRequest, step?: number, looked?: string): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.say("compiling…", false);
    const start = performance.now();
    try {
      const base = this.session.compile;
      const near = step ?? this.session.view.step;
      const made = await this.session.answers.compileLooking(asked, { text: looked ?? base.steps[near]!.text, near });
      made.label = `change ${this.session.compiles.length}: ${differences(made.asked ?? asked, this.session.base).map((one) => one.text).join("; ") || "as it was opened"}`;
      const at = this.session.add(made, (error) => this.say(error instanceof Trouble ? error.problem.text : String(error), true));
      const wanted = base.steps[near];
      const found = made.steps.findIndex((one, index) => one.text === wanted?.text && index >= near - 2);
      const failed = made.steps.findIndex((one) => one.error !== null);
      this.shownFor = "";
      this.editor?.markWrong(null);
      this.session.choose({ compile: at, step: made.shown ?? (failed >= 0 ? failed : found >= 0 ? found : Math.min(near, made.steps.length - 1)) });
      this.say(`compiled in ${Math.round(performance.now() - start)} ms`, failed >= 0);
      return true;
    } catch (error) {
      const problem = error instanceof Trouble ? error.problem : { message: String(error), text: String(error) };
      const ours = problem.file && (problem.file === "edited" || baseName(problem.file) === baseName(askedOf(this.session.compile).source.split(":")[0]));
      const isMarked = Boolean(ours && problem.line) && this.session.view.tab === "whatif";
      if (ours && problem.line) this.editor?.markWrong(problem.line);
      this.say(isMarked ? [`line ${problem.line}: ${problem.message}`, problem.help ?? ""].filter(Boolean).join("\n") : problem.text, true);
      if (problem.contract) this.offer(asked, step, looked);
      return false;
    } finally {
      this.busy = false;
    }
  }

  /** Offers to run what the contracts of the passes refuse. */
  private offer(asked: CompileRequest, step?: number, looked?: string): void {
    const made = button("run it anyway", "the emulator says what it breaks", () => void this.compile({ ...asked, anyway: true }, step, looked));
    made.id = "anyway";
    if (this.session.view.tab === "whatif") this.status.append(" ", made);
    else element("banner").append(" ", made);
  }

  private say(text: string, isWrong: boolean): void {
    this.status.textContent = text;
    this.status.classList.toggle("failed", isWrong);
    // Its column may be scrolled down to another change.
    if (isWrong) this.status.scrollIntoView({ block: "nearest" });
    sayTrouble(isWrong && this.session.view.tab !== "whatif" ? text : "");
  }

  private showChanges(): void {
    const { compiles, view } = this.session;
    const shown = this.session.compile;
    const { base } = this.session;
    const levels = [...new Set(base.states.map((one) => one.level))];
    const rows = levels.map((level) => {
      const [then, now] = [base, shown].map((one) => one.states.filter((state) => state.level === level).at(-1));
      const count = (one: typeof then): string => (one ? (one.ops === null && one.text.length === 0 ? "…" : one.ops === null ? `${one.text.length} lines` : `${one.ops} ops`) : "–");
      return [level, count(now), count(then)];
    });
    const link = new URL(location.href);
    if (shown.code) link.hash = `state=${shown.code}`;
    this.changes.replaceChildren(
      make("h4", {}, view.compile ? (shown.label ?? "") : "as it was opened"),
      ...(view.compile ? [table(["", "now", "before"], rows), this.links()] : []),
      make("p.choices", {}, make("a", { href: link.href, id: "link" }, "link to this state"), saveButton(this.session, () => [...new Set([base, shown])])),
      make("p", {}, "the same from a command line:"),
      make("textarea", { readonly: "", rows: "3", "aria-label": "command line", id: "command" }, shown.command ?? ""),
      ...compiles.map((one, at) => {
        const made = button(at ? (one.label ?? `change ${at}`) : "as it was at first", "show this compile", () => this.session.choose({ compile: at, step: Math.min(view.step, one.steps.length - 1) }));
        made.setAttribute("aria-pressed", String(at === view.compile));
        return made;
      }),
    );
  }

  private links(): HTMLElement {
    const { view } = this.session;
    const row = make("p.choices");
    row.append(
      button("what changed in the assembly", "the first compile next to this one", () => this.nextTo(typeof this.session.compile.arch === "number" ? "ptx" : "amdgcn")),
      button("in the TTGIR", "the first compile next to this one", () => this.nextTo("ttgir")),
      button("costs and numbers", "both runs on the emulator", () => this.session.choose({ tab: "costs", compile: view.compile })),
    );
    return row;
  }

  private nextTo(level: string): void {
    const { compiles, view } = this.session;
    const last = (compile: number): number => compiles[compile]!.states.map((one) => one.level).lastIndexOf(level);
    const first = compiles.indexOf(this.session.base);
    if (last(first) < 0 || last(view.compile) < 0) return;
    this.session.choose({ left: { compile: first, state: last(first) }, right: { compile: view.compile, state: last(view.compile) } });
  }
}

/** A pipeline's text with each pass on a line of its own. */
export function onePassALine(pipeline: string): string {
  return pipeline.replaceAll(/,(?![^{(]*[})])/g, ",\n");
}

/** Whether two requests ask for the same; what is empty is as good as not said. */
function areAlike(one: CompileRequest, other: CompileRequest): boolean {
  const text = (asked: CompileRequest): string => JSON.stringify(Object.entries(asked).filter(([, value]) => value !== "" && value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)).sort(([a], [b]) => a.localeCompare(b)));
  return text(one) === text(other);
}
