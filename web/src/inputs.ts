// What a kernel is run with, a field for each number, each array's length and the seed; made-up ones are called so.
import { Trouble, type Answers, type Input, type Inputs } from "./answers";
import { make } from "./dom";
import type { Compile, CompileRequest } from "./payload";

export class InputFields {
  readonly view = make("details.inputs", { id: "inputs", open: "" });
  private shown: Inputs | null = null;
  private fields: { row: Input; field: HTMLInputElement }[] = [];
  private seed: HTMLInputElement | null = null;

  constructor(
    private readonly answers: Answers,
    private readonly onEnter: () => void,
  ) {}

  async show(compile: Compile): Promise<void> {
    this.shown = null;
    this.fields = [];
    this.seed = null;
    this.view.replaceChildren(make("summary", {}, "what it is run with"));
    try {
      const found = await this.answers.inputs(compile);
      this.shown = found;
      this.fill(found, compile);
    } catch (error) {
      this.view.append(make("p.failed", {}, error instanceof Trouble ? error.problem.text : String(error)));
    }
  }

  private fill(found: Inputs, compile: Compile): void {
    const isFixed = Boolean(compile.asked?.launch) || !/\.(py|ttir|ttgir|llir|ptx|gluon)/.test(compile.asked?.source ?? "");
    this.fields = found.rows.map((row) => ({ row, field: this.field(row.name, row.value, row.is_array && isFixed) }));
    this.seed = this.field("seed", String(found.seed), isFixed);
    const summary = found.doubt ? `made up: ${found.doubt}` : `${found.rows.length} arguments, grid ${found.grid.join("x")}`;
    this.view.replaceChildren(
      make("summary", {}, "what it is run with ", make("small", {}, summary)),
      make("div.options", {}, ...this.fields.map(({ row, field }) =>
        make("label", { title: `${row.type}, ${row.whose}` }, `${row.name} `, field, row.is_array ? " elements" : "", row.whose === "made up" ? make("small.made-up", {}, " made up") : null)),
        make("label", { title: "of made-up contents" }, "seed ", this.seed)),
    );
  }

  private field(name: string, value: string, isFixed: boolean): HTMLInputElement {
    const made = make("input", { type: "text", "aria-label": name, name: `input-${name}`, ...(isFixed ? { readonly: "" } : {}) }) as HTMLInputElement;
    made.value = value;
    made.addEventListener("keydown", (event) => { if (event.key === "Enter") this.onEnter(); });
    return made;
  }

  /** `asked` with what was typed into the fields. */
  read(asked: CompileRequest): CompileRequest {
    if (this.shown === null) return asked;
    const changed: CompileRequest = { ...asked };
    for (const [key, isArray] of [["numbers", false], ["sizes", true]] as const) {
      const given = new Map(((asked[key] as string[] | undefined) ?? []).map((one) => [one.split("=")[0]!, one]));
      for (const { row, field } of this.fields) {
        const value = field.value.trim();
        if (row.is_array === isArray && value && value !== row.value) given.set(row.name, `${row.name}=${value}`);
      }
      if (given.size) changed[key] = [...given.values()];
    }
    const seed = Number(this.seed?.value ?? 0);
    if (Number.isInteger(seed) && seed !== this.shown.seed) changed.seed = seed;
    return changed;
  }
}
