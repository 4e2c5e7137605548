// The tile sizes of the kernel, those of this compile among them: which fit, how long each takes by the model, why others are dropped.
import { Trouble } from "./answers";
import { button, make, table } from "./dom";
import type { Session } from "./session";
import type { CompileRequest, Tiles } from "./payload";

/** Characters from which on a cell is a sentence. */
const LONG = 40;

/** Rows that are shown before somebody asks for all. */
const FIRST = 20;

export class TilesTab {
  /** What sizes were typed for each kernel. */
  private readonly sizes = new Map<string, string>();
  private shown = 0;

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly compile: (asked: CompileRequest) => Promise<unknown>,
  ) {}

  async show(): Promise<void> {
    const number = ++this.shown;
    const { compile, answers } = this.session;
    const sizes = this.sizes.get(compile.kernel) ?? "";
    this.into.replaceChildren(make("p.hint", { role: "status" }, "looking for tile sizes…"));
    try {
      const found = await answers.tiles(compile, sizes);
      if (number === this.shown) this.into.replaceChildren(this.summary(found), this.ranking(found, false), ...(found.reasons.length ? [dropped(found)] : []));
    } catch (error) {
      if (number !== this.shown) return;
      const text = error instanceof Trouble ? error.problem.text : String(error);
      this.into.replaceChildren(make("section.card", { id: "tiles" }, make("h4", {}, "Tile sizes"), ...(sizes ? [this.sizesField(sizes)] : []), make("pre", {}, text)));
    }
  }

  private summary(found: Tiles): HTMLElement {
    const [kernel = "", ...sizes] = found.title.split(", ");
    return make("section.card.wide", { id: "tiles" },
      make("h4", {}, "Tile sizes by the model", make("small", {}, ` ${kernel}${sizes.length ? `, ${sizes.join(", ")}` : ", sizes unknown"}`)),
      make("p", { id: "own-tiles" }, make("b", {}, "This compile: "), found.own.text),
      ...(this.session.answers.live ? [this.sizesField(found.sizes)] : []),
      make("ul", {}, ...found.said.map((line) => make("li", {}, line))),
      make("p.hint", {}, "Nothing is measured: times are a model’s, to compare tiles with each other. In a terminal: ", make("code", {}, "minitriton tune FILE.py:kernel --size NAME=N"), ", where ", make("code", {}, "--html"), " has all configurations."));
  }

  /** The integer arguments for which tiles are ranked. */
  private sizesField(given: string): HTMLElement {
    const field = make("input", { type: "text", name: "tile-sizes", "aria-label": "sizes", spellcheck: "false", placeholder: "m=4096,n=4096,k=4096", size: "40" }) as HTMLInputElement;
    field.value = given;
    const again = (): void => {
      this.sizes.set(this.session.compile.kernel, field.value.replaceAll(" ", ""));
      void this.show();
    };
    field.addEventListener("keydown", (event) => { if (event.key === "Enter") again(); });
    return make("p.choices", {}, make("label", {}, "for the sizes ", field), button("rank again", "for these sizes", again));
  }

  private ranking(found: Tiles, isWhole: boolean): HTMLElement {
    const mayCompile = this.session.answers.live && Object.keys(found.items).length > 0;
    const count = isWhole ? found.rows.length : Math.min(found.rows.length, FIRST);
    const rows = found.rows.slice(0, count).map((row, at) => [...row.map((cell) => cellOf(cell, at === found.own.row)), ...(mayCompile ? [this.compileButton(found, at)] : [])]);
    const card = make("section.card.wide", { id: "tiles-ranking", tabindex: "0", "aria-label": "configurations that fit" }, make("h4", {}, `${found.fit.toLocaleString("en")} configurations fit`, make("small", {}, ` the fastest first${count < found.fit ? `, the first ${count}` : ""}`)), table([...found.head, ...(mayCompile ? [""] : [])], rows));
    if (count < found.rows.length) card.append(button(`the first ${found.rows.length}`, "more of them", () => card.replaceWith(this.ranking(found, true))));
    return card;
  }

  /** Compiles the kernel with the constants and options of a row. */
  private compileButton(found: Tiles, row: number): HTMLElement {
    const grid = found.grids[row];
    const title = `the kernel with these constants and options, next to this one: ${grid ? `grid ${grid.replaceAll(",", "x")}` : "its grid stays as it is, change it in What if"}`;
    return button("compile", title, () => {
      const { num_warps: warps, num_stages: stages, num_ctas: _ctas, ...constants } = found.configs[row]!;
      const items = Object.entries(found.items).map(([name, text]) => `${name}=${constants[name] ?? text}`);
      const others = (found.asked.options ?? []).filter((text) => !/^num_(warps|stages)=/.test(text));
      const asked = { ...found.asked, signature: items.join(","), options: [...others, `num_warps=${warps}`, `num_stages=${stages}`] };
      void this.compile(grid ? { ...asked, grid } : asked);
    });
  }
}

function dropped(found: Tiles): HTMLElement {
  const count = found.reasons.reduce((all, one) => all + one.count, 0);
  const said = found.reasons.map((one) => `${one.count} for ${one.what}`).join(", ");
  return make("section.card.wide", { id: "tiles-dropped" }, make("h4", {}, `${count.toLocaleString("en")} are dropped`, make("small", {}, ` ${said}`)),
    make("details", {}, make("summary", {}, count > found.dropped.length ? `${found.dropped.length} of them` : "which, and why"), table(found.dropped_head, found.dropped.map((row) => row.map((cell) => cellOf(cell, false))))));
}

function cellOf(cell: number | string, isOwn: boolean): HTMLElement {
  const text = typeof cell === "number" ? (Number.isInteger(cell) ? cell.toLocaleString("en") : cell.toFixed(2)) : cell;
  return make(`${isOwn ? "b" : "span"}${text.length > LONG ? ".why" : ""}`, {}, text);
}
