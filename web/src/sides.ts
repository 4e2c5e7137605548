// The source and two states side by side; what is clicked or pointed at is marked in all three.
import { button, element, make } from "./dom";
import { byCost, type Hit } from "./finding";
import { compare } from "./difference";
import { dotNote, numberOf } from "./dots";
import { assemblyColours, pythonLanguage } from "./languages";
import { Pane, type Heat, type Shown as Line } from "./pane";
import { baseName, hasFacts, isToCome, placeOf, samePlace, titleOf, type Compile, type InFlight, type Place, type Row, type State } from "./payload";
import { areAlike, inOneColumn, oldNumber, sideBySide, whole } from "./rows";
import { same, type Session, type Shown } from "./session";

export class Sides {
  readonly source: Pane;
  readonly panes: { left: Pane; right: Pane };
  private readonly fold = element("fold") as HTMLInputElement;
  private readonly file = element("file") as HTMLSelectElement;
  private readonly selects = { left: element("before-title") as HTMLSelectElement, right: element("after-title") as HTMLSelectElement };
  private aligned = true;
  private isOne = false;
  /** When a line at the right was brought into sight for the last time. */
  private revealed = -Infinity;
  /** Lines of the state at the right that the chosen line of the source made, the most expensive first, and which is in sight. */
  private matches: number[] = [];
  private match = 0;
  /** Instructions that warps executed, by line of the PTX. */
  private executed: ReadonlyMap<number, number> = new Map();
  /** Where the line that is being chosen was clicked: that pane stays where it is. */
  private clicked: "source" | "left" | "right" | null = null;
  private shownFile = "";
  /** The states that the lists of states have. */
  private listed = "";
  /** Whether lines of what is shown have not come yet. */
  private isWaiting = false;

  constructor(
    private readonly session: Session,
    private readonly more: { text: string; value: string; load: () => Promise<Shown> }[],
    private readonly onTrouble: (error: unknown) => void,
  ) {
    this.source = new Pane(element("source"), "source", pythonLanguage.extension, (number) => {
      this.clicked = "source";
      if (number !== null) session.choose({ place: { file: Number(this.file.value), line: number + 1 }, value: null, op: 0 });
    }, (number) => this.hover(number === null ? null : { file: Number(this.file.value), line: number + 1 }, session.compile));
    this.panes = { left: this.pane("before", "left"), right: this.pane("after", "right") };
    this.fold.addEventListener("change", () => {
      this.showSides();
      this.mark();
    });
    this.file.addEventListener("change", () => this.showFile(Number(this.file.value)));
    const { left, right } = this.panes;
    keepTogether(right.scroller, left.scroller, () => this.aligned);
    // While the right one goes to a line, the left one, which has just got another text, follows.
    keepTogether(left.scroller, right.scroller, () => this.aligned && performance.now() > this.revealed + SETTLING);
    for (const side of ["left", "right"] as const) this.selects[side].addEventListener("change", () => void this.chosen(side));
    this.source.wrap(true);
    const columns = element("columns") as HTMLInputElement;
    columns.addEventListener("change", () => this.setColumns(!columns.checked));
    const narrow = window.matchMedia(`(max-width: ${NARROW}px)`);
    narrow.addEventListener("change", () => this.setColumns(narrow.matches));
    this.setColumns(narrow.matches, false);
  }

  /** One column for both states, with what was removed over what came for it, or two next to each other. */
  private setColumns(isOne: boolean, isShown = true): void {
    this.isOne = isOne;
    (element("columns") as HTMLInputElement).checked = !isOne;
    document.body.dataset.columns = isOne ? "one" : "two";
    this.panes.right.wrap(isOne);
    element(isOne ? "after-head" : "before-head").prepend(this.selects.left);
    if (!isShown) return;
    this.showSides();
    this.mark();
  }

  toggleColumns(): void {
    element("columns").click();
  }

  focusLeft(): void {
    (this.isOne ? this.panes.right : this.panes.left).focus();
  }

  toggleFold(): void {
    this.fold.click();
  }

  /** Whether the panes have the lines of what is looked at. */
  isUpToDate(): boolean {
    return !this.isWaiting;
  }

  /** Shows both sides, and the files of the compile at the right; of what is folded, the lines `unfolded` of the state at the right. */
  showSides(unfolded: readonly number[] = []): void {
    const fold = this.fold.checked ? new Set(unfolded) : null;
    const { left, right } = this.session.view;
    this.isWaiting = [left, right].some((one) => isToCome(this.session.compileOf(one), one.state));
    const [from, to] = [this.session.stateOf(left), this.session.stateOf(right)];
    const rows = this.isWaiting ? null : this.rows(left, right);
    this.aligned = rows === null || rows.length === 0 || areAlike(rows);
    if (this.aligned && rows !== null && rows.length > 0) {
      const [a, b] = this.isOne ? [[], inOneColumn(rows, from, to, fold)] : sideBySide(rows, from, to, fold);
      this.panes.left.show(this.noted(a, left, left));
      this.panes.right.show(this.noted(b, right, left));
      this.panes.right.scrollToFirstChange();
    } else {
      const dots = [{ text: "…", number: null, kind: "same" }];
      this.panes.left.show(from.text.length ? this.noted(whole(from), left, left) : dots);
      this.panes.right.show(to.text.length ? this.noted(whole(to), right, left) : dots);
    }
    this.fillSelects();
    this.fillFiles();
  }

  /** Lines with the dot that each is of, those with negative numbers of the state `old`. */
  private noted(lines: Line[], shown: Shown, old: Shown): Line[] {
    return lines.map((line) => {
      if (line.number === null) return line;
      const [of, at] = line.number < 0 ? [old, oldNumber(line.number)] : [shown, line.number];
      const note = dotNote(this.session.compileOf(of), this.session.stateOf(of), at);
      return note ? { ...line, note } : line;
    });
  }

  private rows(left: Shown, right: Shown): Row[] | null {
    const { view, compile } = this.session;
    if (this.session.isStep) return compile.steps[view.step]!.rows;
    if (same(left, right)) return null;
    return compare(this.session.stateOf(left), this.session.stateOf(right), left.compile === right.compile);
  }

  fillSelects(): void {
    const listed = `${this.session.view.compile} ${this.session.view.completed} ${this.session.compiles.map((one) => `${one.label} ${one.states.length}`).join("\n")}`;
    for (const side of ["left", "right"] as const) {
      const shown = this.session.view[side];
      const select = this.selects[side];
      if (listed !== this.listed) this.fillSelect(select);
      select.value = `${shown.compile}.${shown.state}`;
      select.title = `${side === "left" ? "before" : "after"}: ${titleOf(this.session.compileOf(shown), shown.state)}${size(this.session.stateOf(shown))}`;
      element(side === "left" ? "before-size" : "after-size").textContent = size(this.session.stateOf(shown));
    }
    this.listed = listed;
  }

  private fillSelect(select: HTMLSelectElement): void {
    select.replaceChildren();
    this.session.compiles.forEach((compile, at) => {
      const group = make("optgroup", { label: compile.label ?? compile.kernel }) as HTMLOptGroupElement;
      const isShown = at === this.session.view.compile;
      const whose = isShown ? "" : compile === this.session.base ? "before · " : at ? `${compile.label ?? compile.kernel} · ` : "";
      compile.states.forEach((_, state) => group.append(new Option(`${whose}${titleOf(compile, state)}`, `${at}.${state}`)));
      if (isShown) for (const one of this.more) group.append(new Option(one.text, one.value));
      select.append(group);
    });
  }

  private async chosen(side: "left" | "right"): Promise<void> {
    const value = this.selects[side].value;
    const extra = this.more.find((one) => one.value === value);
    try {
      const [compile, state] = value.split(".").map(Number);
      const shown = extra ? await extra.load() : { compile: compile!, state: state! };
      this.session.choose({ [side]: shown });
    } catch (error) {
      this.fillSelects();
      this.onTrouble(error);
    }
  }

  private fillFiles(): void {
    const compile = this.session.compile;
    const key = compile.files.map((path) => `${path}\n${compile.sources[String(compile.files.indexOf(path))] ?? ""}`).join("\n");
    if (key === this.shownFile) return;
    this.shownFile = key;
    this.file.replaceChildren(...compile.files.map((path, index) => new Option(baseName(path), String(index))));
    this.showFile(kernelFile(compile));
  }

  showFile(index: number): void {
    const compile = this.session.compile;
    this.file.value = String(index);
    const lines = (compile.sources[String(index)] ?? "").split("\n");
    this.source.show(lines.map((text, number) => {
      const dot = numberOf(compile, { file: index, line: number + 1 });
      return { text, number, kind: "same", ...(dot ? { note: `dot ${dot}` } : {}) };
    }));
    this.source.scrollTo(definedAt(compile, index) - 1);
  }

  /** Goes to a line that a pass put in or took out. */
  find({ step, side, line }: Hit): void {
    const { state } = this.session.aroundStep(this.session.view.compile, step)[side];
    const { op, place } = this.session.lineOf({ compile: this.session.view.compile, state }, line);
    this.clicked = side;
    const { level, text } = this.session.compile.states[state]!;
    this.session.choose({ step, op, place, value: null, level, text: text[line] ?? "" });
    const isOld = this.isOne && side === "left";
    this.panes[this.isOne ? "right" : side].reveal(isOld ? oldNumber(line) : line);
  }

  /** Brings a line of the state at the right into sight. */
  reveal(line: number): void {
    this.unfold(line);
    this.revealed = performance.now();
    this.panes.right.reveal(line);
    this.match = Math.max(0, this.matches.indexOf(line));
    this.sayPlace();
  }

  private unfold(line: number): void {
    if (line >= 0 && !this.panes.right.has(line)) this.showSides([line]);
  }

  /** Goes to another op of the chosen line of the source, the next less expensive one. */
  nextMatch(by: 1 | -1): void {
    if (!this.matches.length) return;
    this.match = (this.match + by + this.matches.length) % this.matches.length;
    this.reveal(this.matches[this.match]!);
  }

  private sayPlace(): void {
    const { compile, view: { place } } = this.session;
    const text = element("place");
    text.replaceChildren(place ? `line ${place.line}` : "click a line to follow it");
    if (place && this.matches.length > 1) {
      text.append(` · ${this.match + 1} of ${this.matches.length} `, this.step("‹", "a more expensive one (,)", -1), this.step("›", "the next most expensive one (.)", 1));
    }
    text.title = place ? (compile.files[place.file] ?? "") : "";
  }

  private step(text: string, title: string, by: 1 | -1): HTMLElement {
    return button(text, title, () => this.nextMatch(by));
  }

  /** Marks the chosen place and value everywhere. */
  mark(): void {
    const { place, value, op, compile } = this.session.view;
    const clicked = this.clicked;
    this.clicked = null;
    const right = this.session.view.right;
    const state = this.session.stateOf(right);
    this.matches = byCost(state, this.linesAt(right, place, this.session.compile), (line) => this.executed.get(state.number?.[line] ?? -1) ?? 0);
    this.match = 0;
    const chosen = op && right.compile === compile ? state.op.indexOf(op) : this.matches[0] ?? -1;
    if (clicked !== "left" && clicked !== "right") {
      Object.assign(this.session.view, { text: state.text[chosen] ?? "", level: state.level });
      this.unfold(chosen);
    }
    for (const side of ["left", "right"] as const) {
      const shown = this.session.view[side];
      const scrolls = clicked !== side && (!this.aligned || (side === "right" && clicked === null) || clicked === "source");
      const lines = this.linesAt(shown, place, this.session.compile);
      if (this.isOne && side === "right") lines.push(...this.linesAt(this.session.view.left, place, this.session.compile).map(oldNumber));
      this.panes[side].mark(lines, value, scrolls, op && shown.compile === compile ? this.session.stateOf(shown).op.indexOf(op) : null);
    }
    if (place && String(place.file) !== this.file.value) this.showFile(place.file);
    this.source.mark(place && String(place.file) === this.file.value ? [place.line - 1] : [], null, clicked !== "source");
    if (clicked === "source" && this.matches.length) this.panes.right.reveal(this.matches[0]!);
    this.sayPlace();
  }

  private hover(place: Place | null, from: Compile): void {
    for (const side of ["left", "right"] as const) this.panes[side].hover(this.linesAt(this.session.view[side], place, from));
    const here = this.session.translated(place, from, this.session.compile);
    this.source.hover(here && String(here.file) === this.file.value ? [here.line - 1] : []);
  }

  private linesAt(shown: Shown, place: Place | null, from: Compile): number[] {
    const there = this.session.translated(place, from, this.session.compileOf(shown));
    const state = this.session.stateOf(shown);
    return there ? state.text.flatMap((_, at) => (samePlace(placeOf(state, at), there) ? [at] : [])) : [];
  }

  /** The state that a line of a pane is of, and its number there. */
  private lineIn(side: "left" | "right", number: number): [Shown, number] {
    return number < 0 ? [this.session.view.left, oldNumber(number)] : [this.session.view[side], number];
  }

  private pane(id: string, side: "left" | "right"): Pane {
    const click = (line: number | null, value: string | null): void => {
      if (line === null) return;
      const [shown, number] = this.lineIn(side, line);
      const { op, place } = this.session.lineOf(shown, number);
      this.clicked = side;
      const { level, text } = this.session.stateOf(shown);
      this.session.choose({ place: this.session.translated(place, this.session.compileOf(shown), this.session.compile), value, op, level, text: text[number] ?? "" });
    };
    const point = (line: number | null): void => {
      const [shown, number] = this.lineIn(side, line ?? 0);
      this.hover(line === null ? null : this.session.lineOf(shown, number).place, this.session.compileOf(shown));
    };
    return new Pane(element(id), id, assemblyColours, click, point);
  }

  /** Counts next to the lines of the source, and of a state that has the numbers of its lines. */
  showHeat(sources: ReadonlyMap<string, Heat>, ptx: ReadonlyMap<number, Heat>): void {
    this.executed = new Map([...ptx].map(([line, heat]) => [line, heat.part]));
    const file = this.file.value;
    this.source.showHeat(new Map([...sources].flatMap(([key, heat]) => (key.startsWith(`${file}:`) ? [[Number(key.split(":")[1]) - 1, heat] as const] : []))));
    for (const side of ["left", "right"] as const) {
      const state = this.session.stateOf(this.session.view[side]);
      if (state.level === "ttgir") continue;
      const heats = new Map<number, Heat>();
      if (state.level === "ptx" || state.level === "amdgcn") state.number?.forEach((number, at) => { const heat = ptx.get(number); if (heat) heats.set(at, heat); });
      this.panes[side].showHeat(heats);
    }
  }

  /** Next to each op of TTGIR how many copies and dots are in flight after it. */
  async showInFlight(): Promise<void> {
    for (const side of ["left", "right"] as const) {
      const shown = this.session.view[side];
      const state = this.session.stateOf(shown);
      if (state.level !== "ttgir") continue;
      const found = hasFacts(state) ? (await this.session.inspected(shown))?.inspection.in_flight ?? {} : {};
      if (!same(shown, this.session.view[side])) continue;
      const most = Math.max(1, ...Object.values(found).map((one) => one.copies + one.dots));
      const heats = state.op.flatMap((op, at) => { const one = found[op]; return one ? [[at, inFlightHeat(one, most)] as const] : []; });
      this.panes[side].showHeat(new Map(heats));
    }
  }
}

function inFlightHeat(one: InFlight, most: number): Heat {
  const counts = [[one.copies, one.copies === 1 ? "copy" : "copies"], [one.dots, one.dots === 1 ? "dot" : "dots"]] as const;
  const text = counts.flatMap(([count, word]) => (count ? [`${count} ${word}`] : [])).join(", ");
  return { text: text || "…", part: (one.copies + one.dots) / most, title: `in flight after this op: ${one.text}` };
}

const size = (of: State): string => (of.ops === null ? `${of.text.length} lines` : `${of.ops} ops`);

function keepTogether(one: HTMLElement, other: HTMLElement, wanted: () => boolean): void {
  one.addEventListener("scroll", () => {
    if (wanted() && Math.abs(other.scrollTop - one.scrollTop) > 1) other.scrollTop = one.scrollTop;
  });
}

/** The file that most lines of the first state name: the kernel's own. */
export function kernelFile(compile: Compile): number {
  const counts = new Map<number, number>();
  for (const at of compile.states[0]?.file ?? []) if (at >= 0) counts.set(at, (counts.get(at) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? 0;
}

/** The line of a file where the kernel is defined, or else the first that the frontend's IR comes from. */
function definedAt(compile: Compile, index: number): number {
  const first = compile.states[0];
  const text = (compile.sources[String(index)] ?? "").split("\n");
  const defined = text.findIndex((line) => line.startsWith(`def ${compile.kernel}(`));
  if (defined >= 0) return defined + 1;
  const lines = first?.line.filter((_, at) => first.file[at] === index) ?? [];
  return lines.length ? Math.min(...lines) : 1;
}

const SETTLING = 300;

/** The width of the window up to which both states share a column. */
const NARROW = 1400;
