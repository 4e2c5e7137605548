// The layout of a value, or of both ends of a movement, as pictures; what the movement costs stands beside them.
import { make } from "./dom";
import type { Inspection, Layout, Movement } from "./payload";
import { bankOf, colouringsOf, describe, Picture, type Colouring } from "./picture";
import type { Session } from "./session";

const MOST_ELEMENTS = 1 << 16;

export class LayoutTab {
  private by: Colouring = "warp";

  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
  ) {}

  async show(): Promise<void> {
    const { view } = this.session;
    const sides = [await this.session.inspected(view.right), await this.session.inspected(view.left)];
    for (const [at, found] of sides.entries()) {
      if (!found) continue;
      const state = this.session.stateOf(at === 0 ? view.right : view.left);
      if (this.showIn(found.inspection, state.text)) return;
    }
    this.into.replaceChildren(make("p.hint", {}, "Click a tensor, a memory descriptor, an encoding (#blocked) or a ttg.convert_layout of TTGIR."));
  }

  private showIn(inspection: Inspection, text: readonly string[]): boolean {
    const { op, value } = this.session.view;
    const movement = inspection.movements[op];
    if (movement && movement.from !== null && movement.to !== null) {
      this.showMovement(movement, inspection);
      return true;
    }
    const type = value?.startsWith("%") ? inspection.types[inspection.values[value.slice(1)]?.type ?? -1] : undefined;
    if (type?.layout !== undefined) {
      this.showOne(inspection.layouts[type.layout]!, type.bits ?? 32, `${value ?? ""}: ${type.text}`);
      return true;
    }
    const alias = value?.startsWith("#") ? text.find((line) => line.startsWith(`${value} = `)) : undefined;
    if (alias) {
      const encoding = alias.slice(alias.indexOf(" = ") + 3);
      const rows = inspection.layouts.filter((one) => one.encoding === encoding);
      const row = rows.sort((a, b) => size(b) - size(a))[0];
      const of = inspection.types.find((one) => one.layout !== undefined && inspection.layouts[one.layout] === row);
      if (row) this.showOne(row, of?.bits ?? 32, `${value ?? ""} = ${row.encoding} on ${row.shape.join("x")}`);
      return row !== undefined;
    }
    return false;
  }

  private showOne(layout: Layout, bits: number, title: string): void {
    if (size(layout) > MOST_ELEMENTS) {
      this.into.replaceChildren(make("p.hint", {}, `${title}: ${size(layout)} elements are too many to draw`));
      return;
    }
    const cell = make("output", { id: "cell" });
    const picture = new Picture(layout, bits, this.by, (at) => {
      if (at === null) return;
      const home = picture.home(at);
      cell.textContent = `${picture.index(at)}: ${describe(home, layout, bits)}`;
      picture.mark(layout.kind === "shared" ? (one) => bankOf(one, layout, bits) === bankOf(home, layout, bits) : (one) => one.lane === home.lane && one.warp === home.warp && one.block === home.block);
    });
    this.into.replaceChildren(
      make("section.card.wide", { id: "layout" }, make("h4", {}, title), make("code.type", {}, layout.encoding), make("p", {}, inWords(layout, bits)), this.choices(layout, [picture]), cell, picture.element),
    );
  }

  private showMovement(movement: Movement, inspection: Inspection): void {
    const [from, to] = [inspection.layouts[movement.from!]!, inspection.layouts[movement.to!]!];
    const cell = make("output", { id: "cell" });
    const pictures: Picture[] = [];
    const point = (at: number | null): void => {
      if (at === null) return;
      cell.textContent = `${pictures[0]!.index(at)}: ${pictures.map((one) => describe(one.home(at), one.layout, movement.bits)).join("  →  ")}`;
      for (const one of pictures) one.mark((_, other) => other === at);
    };
    const width = Math.max(200, Math.floor((this.into.clientWidth - 360) / 2));
    for (const layout of [from, to]) pictures.push(new Picture(layout, movement.bits, this.by, point, width));
    this.into.replaceChildren(
      make(
        "section.card.wide",
        { id: "layout" },
        make("h4", {}, `${movement.name}: from one layout to the other`),
        ...movement.cost.text.split("\n").map((line) => make("p.cost", {}, line)),
        make("p", {}, travel(pictures)),
        this.choices(from, pictures),
        cell,
        make("div.pair", {}, ...pictures.map((one, at) => make("figure", {}, make("figcaption", {}, `${at ? "to" : "from"} ${one.layout.encoding}`), one.element))),
      ),
    );
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
  if (layout.kind === "shared") return `${(size(layout) * bits) / 8} bytes of shared memory; elements of one colour lie in the same bank`;
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
