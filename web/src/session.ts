// What is looked at: compiles, two states of them side by side, a place, a value; with the address that leads back to it.
import type { Answers } from "./answers";
import { archName, baseName, hasFacts, isToCome, placeOf, stepOf, type CompileRequest, type Compile, type Inspection, type Place, type State } from "./payload";

/** A state of a compile, by their numbers. */
export interface Shown {
  compile: number;
  state: number;
}

export interface View {
  compile: number;
  step: number;
  left: Shown;
  right: Shown;
  place: Place | null;
  value: string | null;
  op: number;
  /** The line that was chosen at a side, and its representation. */
  text: string;
  level: string;
  tab: string;
  /** How many compiles have got the lines that they came without: each time there is something else to show. */
  completed: number;
}

export type Change = Partial<Omit<View, "left" | "right">> & { left?: Shown; right?: Shown };

export class Session {
  readonly view: View;
  /** When something else was chosen for the last time, by the page's clock. */
  changed = 0;
  private writing = 0;
  /** What the page was opened with: it may name steps that are still to come. */
  private readonly opened = location.hash;
  private readonly watchers: ((before: View) => void)[] = [];

  constructor(
    readonly answers: Answers,
    readonly compiles: Compile[],
    /** Whether the address is to say the compile itself: the server knows of none. */
    private readonly isChosen = false,
  ) {
    const step = mostChanged(compiles[0]!);
    this.view = { compile: 0, step, left: { compile: 0, state: 0 }, right: { compile: 0, state: 0 }, place: null, value: null, op: 0, text: "", level: "", tab: "facts", completed: 0 };
    Object.assign(this.view, this.aroundStep(0, step));
  }

  /** Shows the rest of compiles that were begun with a part of theirs. */
  awaitRest(onTrouble: (error: unknown) => void): void {
    for (const one of this.compiles) one.rest?.then((all) => this.complete(one, all)).catch(onTrouble);
  }

  /** Calls `watcher` after each change, with the view before it. */
  watch(watcher: (before: View) => void): void {
    this.watchers.push(watcher);
  }

  /** Shows something else. Choosing a step shows the states before and after it. */
  choose(change: Change): void {
    const before = { ...this.view };
    this.changed = performance.now();
    const compile = change.compile ?? this.view.compile;
    const isStep = (change.step !== undefined && change.step !== this.view.step) || compile !== this.view.compile;
    const step = Math.min(change.step ?? this.view.step, this.compiles[compile]!.steps.length - 1);
    Object.assign(this.view, isStep || (change.step !== undefined && !change.left) ? this.aroundStep(compile, step) : {}, change, { step });
    for (const watcher of this.watchers) watcher(before);
    clearTimeout(this.writing);
    // After the frame: the browser takes some milliseconds over an address.
    this.writing = window.setTimeout(() => this.writeAddress(), 50);
  }

  /** Lets the address lead back to what is looked at. */
  writeAddress(): void {
    history.replaceState(null, "", this.hash());
  }

  /** The states before and after a step. */
  aroundStep(compile: number, step: number): { left: Shown; right: Shown } {
    const steps = this.compiles[compile]!.steps;
    const before = steps[Math.max(step - 1, 0)]!.state;
    return { left: { compile, state: before }, right: { compile, state: steps[step]!.state } };
  }

  /** Whether the two sides are those of the chosen step. */
  get isStep(): boolean {
    const { left, right } = this.aroundStep(this.view.compile, this.view.step);
    return same(left, this.view.left) && same(right, this.view.right);
  }

  get compile(): Compile {
    return this.compiles[this.view.compile]!;
  }

  /** The first compile of the program that is shown: what its changes are compared with. */
  get base(): Compile {
    const { asked } = this.compile;
    return this.compiles.find((one) => one.asked !== undefined && asked !== undefined && one.asked.source === asked.source && one.label?.startsWith("change ") !== true) ?? this.compiles[0]!;
  }

  compileOf(shown: Shown): Compile {
    return this.compiles[shown.compile]!;
  }

  stateOf(shown: Shown): State {
    const found = this.compileOf(shown).states[shown.state];
    if (!found) throw new Error(`there is no state ${shown.state}`);
    return found;
  }

  /** A place of one compile in another: the same line of the file of the same name. */
  translated(place: Place | null, from: Compile, to: Compile): Place | null {
    if (place === null || from === to) return place;
    const name = baseName(from.files[place.file]);
    const file = to.files.findIndex((path) => baseName(path) === name);
    return file < 0 ? null : { file, line: place.line };
  }

  /** What is known of the state that is shown, or of the last one before it about which something is. */
  async inspected(shown: Shown): Promise<{ inspection: Inspection; step: number } | null> {
    const compile = this.compileOf(shown);
    // Of what Triton made only the text is here.
    if (!compile.asked) return null;
    if (isToCome(compile, shown.state)) await compile.rest;
    for (let state = shown.state; state >= 0; state--) {
      if (!hasFacts(compile.states[state]!)) continue;
      const step = stepOf(compile, state);
      return step < 0 ? null : { inspection: await this.answers.inspect(compile, step), step };
    }
    return null;
  }

  /** One more compile; what it came without is shown when it is there. */
  add(compile: Compile, onTrouble: (error: unknown) => void = () => undefined): number {
    this.compiles.push(compile);
    compile.rest?.then((all) => this.complete(compile, all)).catch(onTrouble);
    return this.compiles.length - 1;
  }

  /** Puts all lines into a compile that had those of one step; what is looked at stays what it is. */
  complete(compile: Compile, all: Compile): void {
    const { view } = this;
    if (compile.isPreview) return this.replacePreview(compile, all);
    const sides: Pick<Change, "left" | "right"> = {};
    for (const side of ["left", "right"] as const) {
      const shown = view[side];
      if (this.compileOf(shown) === compile) sides[side] = { ...shown, state: all.steps[stepOf(compile, shown.state)]?.state ?? 0 };
    }
    const place = this.compile === compile ? this.translated(view.place, compile, all) : view.place;
    Object.assign(compile, all, { label: compile.label });
    delete compile.shown;
    delete compile.rest;
    this.choose({ ...sides, place, completed: view.completed + 1 });
  }

  private replacePreview(compile: Compile, all: Compile): void {
    const { view } = this;
    const place = this.translated(view.place, compile, all);
    for (const name of ["isPreview", "shown", "rest"] as const) delete compile[name];
    Object.assign(compile, all, { label: all.label ?? `${all.kernel}, ${archName(all.arch)}` });
    const said = this.readHash(this.opened);
    const step = said.step ?? mostChanged(compile);
    const chosen = place ? { place, value: null } : {};
    this.choose({ ...this.aroundStep(view.compile, step), ...said, step, ...chosen, tab: view.tab, completed: view.completed + 1 });
  }

  hash(): string {
    const view = this.view;
    const parts = [`step=${view.step}`];
    if ((view.compile || this.isChosen) && this.compile.code) parts.push(`state=${this.compile.code}`);
    if (!this.isStep) parts.push(`left=${view.left.compile}.${view.left.state}`, `right=${view.right.compile}.${view.right.state}`);
    if (view.place) parts.push(`file=${view.place.file}`, `line=${view.place.line}`);
    if (view.value) parts.push(`value=${encodeURIComponent(view.value)}`);
    if (view.tab !== "facts") parts.push(`tab=${view.tab}`);
    return `#${parts.join("&")}`;
  }

  /** What the address says, as a change; sides that are not there are left out. */
  readHash(hash = location.hash): Change {
    const given = new URLSearchParams(hash.slice(1));
    const change: Change = {};
    const step = Number(given.get("step") ?? NaN);
    if (Number.isInteger(step) && step >= 0 && step < this.compile.steps.length) change.step = step;
    const line = Number(given.get("line"));
    change.place = line > 0 ? { file: Number(given.get("file") ?? 0), line } : null;
    change.value = given.get("value");
    change.tab = given.get("tab") ?? this.view.tab;
    for (const side of ["left", "right"] as const) {
      const [compile, state] = (given.get(side) ?? "").split(".").map(Number);
      if (compile !== undefined && state !== undefined && this.compiles[compile]?.states[state]) change[side] = { compile, state };
    }
    return change;
  }

  /** The op that begins on a line of a state, and the place it comes from. */
  lineOf(shown: Shown, number: number): { op: number; place: Place | null } {
    const state = this.stateOf(shown);
    return { op: state.op[number] ?? 0, place: placeOf(state, number) };
  }
}

export function same(a: Shown, b: Shown): boolean {
  return a.compile === b.compile && a.state === b.state;
}

/** The pass of TTIR or TTGIR that changed most lines; one that goes from one to the other changes all. */
function mostChanged(compile: Compile): number {
  const failed = compile.steps.findIndex((one) => one.error !== null);
  if (failed >= 0) return failed;
  const levelOf = (at: number): string => compile.states[compile.steps[at]!.state]!.level;
  const changes = compile.steps.map((one, at) => {
    const stays = at > 0 && one.changed && levelOf(at) === levelOf(at - 1) && hasFacts(compile.states[one.state]!);
    return stays ? (one.counts.changed ?? 0) + (one.counts.added ?? 0) + (one.counts.removed ?? 0) + (one.counts.moved ?? 0) : 0;
  });
  const most = Math.max(0, ...changes);
  return most > 0 ? changes.indexOf(most) : Math.max(compile.steps.findIndex((one, at) => at > 0 && one.changed), 0);
}

/** The asked of a compile, or an error where it was made without. */
export function askedOf(compile: Compile): CompileRequest {
  if (!compile.asked) throw new Error("this compile does not say what it was made from");
  return compile.asked;
}
