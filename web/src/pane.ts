// A read-only text with classes on its lines, which tells what line or word was clicked and marks what it is told to.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { standardKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, RangeSetBuilder, StateEffect, Text, type Extension, type StateEffectType } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, keymap, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { nonce } from "./dom";

/** One shown line: its text, number in its own text (null for filler), and class. */
export interface Shown {
  text: string;
  number: number | null;
  kind: string;
  /** What stands before the text, in small. */
  note?: string;
}

interface Marks {
  lines: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  word: string | null;
}

const NO_MARKS: Marks = { lines: new Set(), hovered: new Set(), word: null };

/** How a text is coloured: as a language that CodeMirror parses, or, where a line says all, line by line, those in sight only. */
export type Colours = Extension | ((line: string) => Iterable<readonly [from: number, to: number, kind: string]>);

/** What the next frame shows otherwise: several changes of one event are one update of the view, which lays out the page once. */
interface Pending {
  shown: boolean;
  /** Which line to bring into sight; `page`: on a narrow page the pane as well. */
  scroll: { at: number; y: "center" | "start"; page?: boolean } | null;
  marks: boolean;
  heat: boolean;
}

const setMarks = StateEffect.define<null>();
const setHeat = StateEffect.define<null>();

/** What stands next to a line: a short text, how hot it is from 0 to 1, and all of it for a pointer that rests there. */
export interface Heat {
  text: string;
  part: number;
  title: string;
}

class HeatMarker extends GutterMarker {
  constructor(readonly heat: Heat) {
    super();
  }
  override eq(other: HeatMarker): boolean {
    return this.heat.title === other.heat.title;
  }
  override toDOM(): Node {
    const made = document.createElement("span");
    made.className = "heat";
    made.textContent = this.heat.text;
    made.title = this.heat.title;
    made.style.setProperty("--part", `${Math.round(100 * this.heat.part)}%`);
    return made;
  }
}

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "t-comment" },
  { tag: tags.keyword, class: "t-keyword" },
  { tag: tags.string, class: "t-string" },
  { tag: tags.number, class: "t-number" },
  { tag: tags.atom, class: "t-atom" },
  { tag: tags.variableName, class: "t-variable" },
  { tag: tags.typeName, class: "t-type" },
]);

export const highlighting = syntaxHighlighting(colours);

/** Without it the page's policy refuses the styles that CodeMirror adds. */
export const withNonce = EditorView.cspNonce.of(nonce);

const SIGNS: Record<string, string> = { added: " +", removed: " −", old: " −", changed: " ~", moved: " ↕" };

/** Measures lines again when their room changes: a gutter that gets wider wraps them elsewhere, and CodeMirror watches its frame only. */
const watched = ViewPlugin.define((view) => {
  const observer = new ResizeObserver(() => view.requestMeasure());
  observer.observe(view.contentDOM);
  return { destroy: () => observer.disconnect() };
});

class LineNumber extends GutterMarker {
  constructor(readonly text: string) {
    super();
  }
  override eq(other: LineNumber): boolean {
    return this.text === other.text;
  }
  override toDOM(): Node {
    return document.createTextNode(this.text);
  }
}

export class Pane {
  private readonly view: EditorView;
  private shown: Shown[] = [];
  private byNumber = new Map<number, number>();
  private heat: ReadonlyMap<number, Heat> = new Map();
  private marks: Marks = NO_MARKS;
  private scrollsPage = false;
  private pending: Pending | null = null;
  private hoveredNumber: number | null = null;
  private readonly wrapping = new Compartment();

  constructor(
    parent: HTMLElement,
    label: string,
    private readonly colours: Colours,
    onLine: (number: number | null, word: string | null) => void,
    private readonly onHover: (number: number | null) => void = () => undefined,
  ) {
    this.view = new EditorView({ parent, state: EditorState.create({ extensions: [withNonce, this.extensions(label, onLine)] }) });
  }

  /** Shows another text from its top on. */
  show(shown: Shown[]): void {
    this.shown = shown;
    this.marks = NO_MARKS;
    this.byNumber = new Map(shown.flatMap((line, at) => (line.number === null ? [] : [[line.number, at] as const])));
    this.change({ shown: true, scroll: { at: 0, y: "start" } });
  }

  /** Marks lines (by their own numbers) and every use of a word; with `scroll` brings one of them into sight: `wanted`, or the first. */
  mark(numbers: readonly number[], word: string | null, scroll: boolean, wanted: number | null = null): void {
    const lines = new Set(numbers.flatMap((number) => this.byNumber.get(number) ?? []));
    if (lines.size === 0 && word === null && this.marks === NO_MARKS) return;
    this.marks = lines.size === 0 && word === null ? NO_MARKS : { lines, hovered: new Set(), word };
    const first = (wanted === null ? undefined : this.byNumber.get(wanted)) ?? lines.values().next().value;
    this.change({ marks: true, ...(scroll && first !== undefined ? { scroll: { at: first, y: "center" } } : {}) });
  }

  /** Marks lines lightly, as long as the pointer is on one of them somewhere. */
  hover(numbers: readonly number[]): void {
    const hovered = new Set(numbers.flatMap((number) => this.byNumber.get(number) ?? []));
    if (hovered.size === 0 && this.marks.hovered.size === 0) return;
    this.marks = { ...this.marks, hovered };
    this.change({ marks: true });
  }

  /** Whether long lines go on below, so that all of them is in sight. */
  wrap(isWanted: boolean): void {
    this.view.dispatch({ effects: this.wrapping.reconfigure(isWanted ? EditorView.lineWrapping : []) });
  }

  /** Puts the keyboard here. */
  focus(): void {
    this.view.focus();
  }

  /** Puts counts next to lines (by their own numbers). */
  showHeat(heat: ReadonlyMap<number, Heat>): void {
    if (heat.size === 0 && this.heat.size === 0) return;
    this.heat = heat;
    this.change({ heat: true });
  }

  /** Brings the first line of a kind other than "same" into sight. */
  scrollToFirstChange(): void {
    const at = this.shown.findIndex((line) => line.kind !== "same" && line.kind !== "fold");
    if (at >= 0) this.change({ scroll: { at, y: "center" } });
  }

  /** Brings a line (by its own number) into the middle, marked for a moment. */
  reveal(number: number): void {
    const at = this.byNumber.get(number);
    if (at === undefined) return;
    this.marks = { ...this.marks, hovered: new Set([at]) };
    this.change({ marks: true, scroll: { at, y: "center", page: true } });
  }

  /** Whether a line (by its own number) is among those shown. */
  has(number: number): boolean {
    return this.byNumber.has(number);
  }

  /** Brings a line (by its own number) to the top. */
  scrollTo(number: number): void {
    const at = this.byNumber.get(number);
    if (at !== undefined) this.change({ scroll: { at, y: "start" } });
  }

  private change(change: Partial<Pending>): void {
    if (this.pending === null) queueMicrotask(() => this.update());
    this.pending = { ...(this.pending ?? { shown: false, scroll: null, marks: false, heat: false }), ...change };
  }

  private update(): void {
    const { shown, scroll, marks, heat } = this.pending!;
    this.pending = null;
    this.scrollsPage = scroll?.page === true;
    const old = this.view.state.doc;
    const doc = shown ? Text.of(this.shown.length ? this.shown.map((line) => line.text) : [""]) : old;
    const effects: StateEffect<unknown>[] = [];
    if (marks) effects.push(setMarks.of(null));
    if (heat) effects.push(setHeat.of(null));
    const target = scroll && doc.line(Math.min(scroll.at + 1, doc.lines)).from;
    const scrolling = scroll && target !== null ? [EditorView.scrollIntoView(target, { y: scroll.y })] : [];
    // CodeMirror takes a target for one of the text before, which may be shorter.
    const fits = target === null || target <= old.length;
    this.view.dispatch({ effects: [...effects, ...(fits ? scrolling : [])], ...(shown ? { changes: { from: 0, to: old.length, insert: doc }, selection: { anchor: 0 } } : {}) });
    if (!fits) this.view.dispatch({ effects: scrolling });
  }

  get scroller(): HTMLElement {
    return this.view.scrollDOM;
  }

  private extensions(label: string, onLine: (n: number | null, word: string | null) => void): Extension[] {
    const { colours } = this;
    const marked = inSight((view) => decorations(view, this.shown, this.marks), (update) => has(update, setMarks));
    const numberAt = (view: EditorView, position: number): number | null => this.shown[view.state.doc.lineAt(position).number - 1]?.number ?? null;
    return [
      EditorState.readOnly.of(true),
      EditorView.scrollHandler.of(() => {
        const { scrollX, scrollY } = window;
        // After CodeMirror has scrolled all that is around the line, before that is painted.
        if (!this.scrollsPage) queueMicrotask(() => window.scrollTo(scrollX, scrollY));
        return false;
      }),
      this.wrapping.of([]),
      watched,
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      typeof colours === "function" ? inSight((view) => coloured(view, colours)) : [colours, highlighting],
      search({ top: true }),
      keymap.of([...searchKeymap, ...standardKeymap]),
      gutter({
        class: "numbers",
        lineMarker: (view, block) => {
          const number = numberAt(view, block.from);
          const kind = this.shown[view.state.doc.lineAt(block.from).number - 1]?.kind ?? "";
          return new LineNumber(number === null ? "" : `${number < 0 ? -number : number + 1}${SIGNS[kind] ?? ""}`);
        },
        initialSpacer: () => new LineNumber("0000"),
      }),
      gutter({
        class: "heats",
        lineMarker: (view, block) => {
          const number = numberAt(view, block.from);
          const heat = number === null ? undefined : this.heat.get(number);
          return heat ? new HeatMarker(heat) : null;
        },
        lineMarkerChange: (update) => has(update, setHeat),
      }),
      marked,
      EditorView.domEventHandlers({
        click: (event, view) => {
          const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
          if (position === null) return;
          const line = view.state.doc.lineAt(position);
          onLine(numberAt(view, position), wordAt(line.text, position - line.from));
        },
        mousemove: (event, view) => {
          const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
          const number = position === null ? null : numberAt(view, position);
          if (number !== this.hoveredNumber) this.onHover((this.hoveredNumber = number));
        },
        mouseleave: () => this.onHover((this.hoveredNumber = null)),
        keydown: (event, view) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return false;
          const position = view.state.selection.main.head;
          const line = view.state.doc.lineAt(position);
          onLine(numberAt(view, position), wordAt(line.text, position - line.from) ?? wordAt(line.text, line.text.indexOf("%")));
          return true;
        },
      }),
    ];
  }
}

function has(update: ViewUpdate, kind: StateEffectType<null>): boolean {
  return update.transactions.some((one) => one.effects.some((effect) => effect.is(kind)));
}

/** Decorations of the lines in sight, made anew with these, with the text, and when `wanted`. */
function inSight(made: (view: EditorView) => DecorationSet, wanted: (update: ViewUpdate) => boolean = () => false): Extension {
  return ViewPlugin.define(
    (view) => ({
      decorations: made(view),
      update(update) {
        if (update.docChanged || update.viewportChanged || wanted(update)) this.decorations = made(update.view);
      },
    } as { decorations: DecorationSet; update(update: ViewUpdate): void }),
    { decorations: (plugin) => plugin.decorations },
  );
}

/** The name of a value (`%12`, `%r3`) or of an encoding (`#blocked1`) at a column of a line. */
function wordAt(text: string, column: number): string | null {
  for (const found of text.matchAll(/%[\w$]+(?:#\d+)?|#[a-z]\w*(?![\w.])/g)) {
    if (found.index <= column && column <= found.index + found[0].length) return found[0];
  }
  return null;
}

const COLOURED = new Map<string, Decoration>();

/** The colours of the words in sight. */
function coloured(view: EditorView, colours: Exclude<Colours, Extension>): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const { doc } = view.state;
  const last = doc.lineAt(view.viewport.to).number;
  for (let at = doc.lineAt(view.viewport.from).number; at <= last; at++) {
    const line = doc.line(at);
    for (const [from, to, kind] of colours(line.text)) {
      let mark = COLOURED.get(kind);
      if (!mark) COLOURED.set(kind, (mark = Decoration.mark({ class: `t-${kind}` })));
      builder.add(line.from + from, line.from + to, mark);
    }
  }
  return builder.finish();
}

/** Classes of the lines in sight, and the places of the chosen word on them. */
function decorations(view: EditorView, shown: readonly Shown[], marks: Marks): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const word = marks.word === null ? null : new RegExp(`${marks.word.replace(/[$]/g, "\\$&")}(?![\\w$])`, "g");
  const { doc } = view.state;
  const { from, to } = view.viewport;
  for (let at = doc.lineAt(from).number - 1, last = doc.lineAt(to).number; at < last; at++) {
    const line = doc.line(at + 1);
    const classes = [`k-${shown[at]?.kind ?? "same"}`];
    if (marks.lines.has(at)) classes.push("marked");
    if (marks.hovered.has(at)) classes.push("hovered");
    const note = shown[at]?.note;
    builder.add(line.from, line.from, Decoration.line({ class: classes.join(" "), ...(note ? { attributes: { "data-note": note } } : {}) }));
    if (word === null) continue;
    for (const found of line.text.matchAll(word)) {
      const start = line.from + found.index;
      builder.add(start, start + found[0].length, Decoration.mark({ class: "word" }));
    }
  }
  return builder.finish();
}
