// The layout of a value, or of both ends of a movement, as pictures; what the movement costs stands beside them; and a form for the numbers
// of each encoding, which changes the pictures as one types and compiles on with them.
import { Trouble } from "./answers";
import { button, make } from "./dom";
import { aliasOf, EncodingForm, parseEncoding, type Alias } from "./encodings";
import { declaredAt, type Inspection, type Layout } from "./payload";
import { bankOf, colouringsOf, describe, Picture, type Colouring } from "./picture";
import type { Session } from "./session";
import type { WhatIfTab } from "./whatif";

const MOST_ELEMENTS = 1 << 16;

/** What is drawn: one layout, or the two ends of a movement with its cost. */
interface Drawing {
  title: string;
  layouts: Layout[];
  bits: number;
  cost: string | null;
}

/** The state that a drawing is of. */
interface Place {
  step: number;
  text: readonly string[];
}

export class LayoutTab {
  private by: Colouring = "warp";

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly whatIf: WhatIfTab,
  ) {}

  /** Of the last `show`: what an earlier one was still waiting for must not cover its drawing. */
  private shown = 0;

  async show(): Promise<void> {
    const number = ++this.shown;
    const { view } = this.session;
    for (const shown of [view.right, view.left]) {
      const found = await this.session.inspected(shown);
      if (number !== this.shown) return;
      if (!found) continue;
      const compile = this.session.compileOf(shown);
      const drawing = this.drawingIn(found.inspection, this.session.stateOf(shown).text);
      if (!drawing) continue;
      const place = compile === this.session.compile ? { step: found.step, text: compile.states[compile.steps[found.step]!.state]!.text } : null;
      this.into.replaceChildren(make("div", { id: "layout" }, this.card(drawing, place)));
      return;
    }
    const declared = declaredAt(this.session.compile, view.place);
    if (declared.length) {
      this.into.replaceChildren(make("div", { id: "layout" }, ...declared.map((one) => this.card({ title: `${one.text} on ${one.layout.shape.join(" × ")} elements`, layouts: [one.layout], bits: one.bits, cost: null }, null))));
      return;
    }
    this.into.replaceChildren(make("p.hint", {}, "Click a tensor, a memory descriptor, an encoding (#blocked), a ttg.convert_layout of TTGIR, or a line of a Gluon kernel that writes a layout."));
  }

  private drawingIn(inspection: Inspection, text: readonly string[]): Drawing | null {
    const { op, value } = this.session.view;
    const movement = inspection.movements[op];
    if (movement && movement.from !== null && movement.to !== null) {
      const layouts = [inspection.layouts[movement.from]!, inspection.layouts[movement.to]!];
      return { title: `${movement.name}: from one layout to the other`, layouts, bits: movement.bits, cost: movement.cost.text };
    }
    const type = value?.startsWith("%") ? inspection.types[inspection.values[value.slice(1)]?.type ?? -1] : undefined;
    if (type?.layout !== undefined) return { title: `${value ?? ""}: ${(type.shape ?? []).join(" × ")} elements`, layouts: [inspection.layouts[type.layout]!], bits: type.bits ?? 32, cost: null };
    const alias = value?.startsWith("#") ? text.find((line) => line.startsWith(`${value} = `)) : undefined;
    if (!alias) return null;
    const encoding = alias.slice(alias.indexOf(" = ") + 3);
    const row = inspection.layouts.filter((one) => one.encoding === encoding).sort((a, b) => size(b) - size(a))[0];
    if (!row) return null;
    const of = inspection.types.find((one) => one.layout !== undefined && inspection.layouts[one.layout] === row);
    return { title: `${value ?? ""} on ${row.shape.join(" × ")} elements`, layouts: [row], bits: of?.bits ?? 32, cost: null };
  }

  private card(drawing: Drawing, place: Place | null): HTMLElement {
    if (drawing.layouts.some((one) => size(one) > MOST_ELEMENTS)) return make("p.hint", {}, `${drawing.title}: ${Math.max(...drawing.layouts.map(size))} elements are too many to draw`);
    const words = make("div", {});
    const pictures = make("div.drawn", {});
    const fill = (now: Drawing): void => {
      const [said, drawn] = now.layouts.length === 1 ? this.one(now) : this.pair(now);
      words.replaceChildren(...said);
      pictures.replaceChildren(drawn);
    };
    fill(drawing);
    const form = place && this.session.answers.live ? this.form(drawing, place, fill) : null;
    return make("section.card.wide.layout", {}, make("div.words", {}, make("h4", {}, drawing.title), words, form), pictures);
  }

  /** What is said of one layout, and its picture. */
  private one({ layouts: [layout], bits }: Drawing): [HTMLElement[], HTMLElement] {
    const cell = make("output", { id: "cell" });
    const picture = new Picture(layout!, bits, this.by, (at) => {
      if (at === null) return;
      const home = picture.home(at);
      cell.textContent = `${picture.index(at)}: ${describe(home, layout!, bits)}`;
      picture.mark(layout!.kind === "shared" ? (one) => bankOf(one, layout!, bits) === bankOf(home, layout!, bits) : (one) => one.lane === home.lane && one.warp === home.warp && one.block === home.block);
    });
    return [[make("code.type", {}, layout!.encoding), make("p", {}, inWords(layout!, bits)), this.choices(layout!, [picture]), cell], picture.element];
  }

  /** What is said of a movement, and both ends of it. */
  private pair({ layouts, bits, cost }: Drawing): [HTMLElement[], HTMLElement] {
    const cell = make("output", { id: "cell" });
    const pictures: Picture[] = [];
    const point = (at: number | null): void => {
      if (at === null) return;
      cell.textContent = `${pictures[0]!.index(at)}: ${pictures.map((one) => describe(one.home(at), one.layout, bits)).join("  →  ")}`;
      for (const one of pictures) one.mark((_, other) => other === at);
    };
    const width = Math.max(200, Math.floor((this.into.clientWidth - 460) / 2));
    for (const layout of layouts) pictures.push(new Picture(layout, bits, this.by, point, width));
    return [
      [...(cost ?? "").split("\n").map((line) => make("p.cost", {}, line)), make("p", {}, travel(pictures)), this.choices(layouts[0]!, pictures), cell],
      make("div.pair", {}, ...pictures.map((one, at) => make("figure", {}, make("figcaption", {}, `${at ? "to" : "from"} ${one.layout.encoding}`), one.element))),
    ];
  }

  /** Fields for the encodings of a drawing; null where the state's text does not define them by names. */
  private form(drawing: Drawing, place: Place, fill: (now: Drawing) => void): HTMLElement | null {
    const aliases = drawing.layouts.map((one) => aliasOf(one.encoding, place.text));
    const known = new Map(aliases.filter((one) => one !== null).map((one) => [one.name, one]));
    if (!known.size) return null;
    const edited = new Map<string, string>();
    const said = make("output.failed", { id: "encoding-error", role: "status" });
    const compile = button("Compile with it", "this state's IR with these encodings, and the passes after it", () => void this.compileWith([...known.values()], edited, place));
    compile.id = "compile-encoding";
    compile.disabled = true;
    let asked = 0;
    const changed = async (name: string, text: string): Promise<void> => {
      edited.set(name, text);
      const number = ++asked;
      const encodings = drawing.layouts.map((one, at) => this.written(one.encoding, aliases[at] ?? null, edited));
      try {
        const found = await this.session.answers.layout(encodings, drawing.layouts[0]!.shape, drawing.bits, this.session.compile.arch);
        if (number !== asked) return;
        said.textContent = "";
        compile.disabled = encodings.every((one, at) => one === drawing.layouts[at]!.encoding);
        fill({ ...drawing, layouts: found.layouts, cost: found.cost });
      } catch (error) {
        if (number !== asked) return;
        said.textContent = error instanceof Trouble ? error.problem.message : String(error);
        compile.disabled = true;
      }
    };
    const forms = [...known.values()].map((one) => new EncodingForm(parseEncoding(one.text)!, (text) => void changed(one.name, text)).element);
    forms.forEach((one, at) => one.querySelector("legend")!.prepend(`${[...known.keys()][at]!} `));
    return make("div.encodings", { "data-editing": "" }, ...forms, compile, said);
  }

  private written(encoding: string, alias: Alias | null, edited: Map<string, string>): string {
    return alias === null ? encoding : alias.within(edited.get(alias.name) ?? alias.text);
  }

  private async compileWith(aliases: readonly Alias[], edited: Map<string, string>, place: Place): Promise<void> {
    const text = [...place.text];
    for (const one of aliases) text[one.line] = `${one.name} = ${edited.get(one.name) ?? one.text}`;
    await this.whatIf.compileState(place.step, text.join("\n"));
  }

  private choices(layout: Layout, pictures: readonly Picture[]): HTMLElement {
    const row = make("p.choices", {}, "colour by ");
    const all = [...new Set(pictures.flatMap((one) => colouringsOf(one.layout)))];
    for (const by of all.length ? all : colouringsOf(layout)) {
      const made = make("button", { type: "button", "aria-pressed": String(by === this.by) }, by);
      made.addEventListener("click", () => {
        this.by = by;
        for (const one of pictures) one.colourBy(by);
        for (const other of row.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === made));
      });
      row.append(made);
    }
    return row;
  }
}

const size = (layout: Layout): number => layout.shape.reduce((a, b) => a * b, 1);

function inWords(layout: Layout, bits: number): string {
  const count = (dim: string): number => 1 << (layout.bases[dim]?.length ?? 0);
  if (layout.kind === "shared") return `${(size(layout) * bits) / 8} bytes of shared memory; elements of one colour are in the same bank`;
  return `${count("register")} registers of each of ${count("lane")} lanes of ${count("warp")} warps`;
}

/** How many elements change thread, and warp. */
function travel(pictures: readonly Picture[]): string {
  const [from, to] = pictures;
  if (!from || !to || from.layout.kind !== to.layout.kind) return "";
  let threads = 0;
  let warps = 0;
  from.elements.forEach((home, at) => {
    const there = to.home(at);
    if (home.warp !== there.warp) warps++;
    if (home.warp !== there.warp || home.lane !== there.lane) threads++;
  });
  const all = from.elements.length;
  return `${threads} of ${all} elements go to another thread, ${warps} of them to another warp`;
}
