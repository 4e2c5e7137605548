// A read-only text with classes on its lines, which tells what line or word was clicked and marks what it is told to.
import { HighlightStyle, syntaxHighlighting, type Language } from "@codemirror/language";
import { standardKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, RangeSetBuilder, StateEffect, Text, type Extension } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, keymap, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** One shown line: its text, number in its own text (null for filler), and class. */
export interface Shown {
  text: string;
  number: number | null;
  kind: string;
}

interface Marks {
  lines: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  word: string | null;
}

const NO_MARKS: Marks = { lines: new Set(), hovered: new Set(), word: null };

const setMarks = StateEffect.define<null>();
const setHeat = StateEffect.define<null>();

/** What stands beside a line: a short text, how hot it is from 0 to 1, and all of it for a pointer that rests there. */
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

  constructor(
    parent: HTMLElement,
    label: string,
    private readonly language: Language,
    onLine: (number: number | null, word: string | null) => void,
    private readonly onHover: (number: number | null) => void = () => undefined,
  ) {
    this.view = new EditorView({ parent, state: this.stateFor([], label, onLine) });
    this.restart = (shown) => this.view.setState(this.stateFor(shown, label, onLine));
  }

  private hoveredNumber: number | null = null;
  private readonly restart: (shown: Shown[]) => void;

  show(shown: Shown[]): void {
    this.shown = shown;
    this.marks = NO_MARKS;
    this.byNumber = new Map(shown.flatMap((line, at) => (line.number === null ? [] : [[line.number, at] as const])));
    this.restart(shown);
  }

  /** Marks lines (by their own numbers) and every use of a word; with `scroll` brings one of them into sight: `wanted`, or the first. */
  mark(numbers: readonly number[], word: string | null, scroll: boolean, wanted: number | null = null): void {
    const lines = new Set(numbers.flatMap((number) => this.byNumber.get(number) ?? []));
    if (lines.size === 0 && word === null && this.marks === NO_MARKS) return;
    this.marks = lines.size === 0 && word === null ? NO_MARKS : { lines, hovered: new Set(), word };
    const effects: StateEffect<unknown>[] = [setMarks.of(null)];
    const first = (wanted === null ? undefined : this.byNumber.get(wanted)) ?? lines.values().next().value;
    if (scroll && first !== undefined) effects.push(this.scrolling(first, "center"));
    this.view.dispatch({ effects });
  }

  /** Marks lines lightly, as long as the pointer is on one of them somewhere. */
  hover(numbers: readonly number[]): void {
    const hovered = new Set(numbers.flatMap((number) => this.byNumber.get(number) ?? []));
    if (hovered.size === 0 && this.marks.hovered.size === 0) return;
    this.marks = { ...this.marks, hovered };
    this.view.dispatch({ effects: setMarks.of(null) });
  }

  /** Puts the keyboard here. */
  focus(): void {
    this.view.focus();
  }

  /** Puts counts beside lines (by their own numbers). */
  showHeat(heat: ReadonlyMap<number, Heat>): void {
    this.heat = heat;
    this.view.dispatch({ effects: setHeat.of(null) });
  }

  /** Brings the first line of a kind other than "same" into sight. */
  scrollToFirstChange(): void {
    const at = this.shown.findIndex((line) => line.kind !== "same" && line.kind !== "fold");
    if (at >= 0) this.scrollToLine(at);
  }

  /** Brings a line (by its own number) to the top. */
  scrollTo(number: number): void {
    const at = this.byNumber.get(number);
    if (at !== undefined) this.scrollToLine(at, "start");
  }

  private scrollToLine(at: number, y: "center" | "start" = "center"): void {
    this.view.dispatch({ effects: this.scrolling(at, y) });
  }

  private scrolling(at: number, y: "center" | "start"): StateEffect<unknown> {
    return EditorView.scrollIntoView(this.view.state.doc.line(at + 1).from, { y });
  }

  get scroller(): HTMLElement {
    return this.view.scrollDOM;
  }

  private stateFor(shown: readonly Shown[], label: string, onLine: (n: number | null, word: string | null) => void): EditorState {
    const pane = this;
    const inSight = ViewPlugin.define(
      (view) => ({
        decorations: decorations(view, shown, this.marks),
        update(update) {
          if (update.viewportChanged || update.transactions.some((one) => one.effects.some((effect) => effect.is(setMarks)))) this.decorations = decorations(update.view, shown, pane.marks);
        },
      } as { decorations: DecorationSet; update(update: ViewUpdate): void }),
      { decorations: (plugin) => plugin.decorations },
    );
    const extensions: Extension[] = [
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      this.language.extension,
      highlighting,
      search({ top: true }),
      keymap.of([...searchKeymap, ...standardKeymap]),
      gutter({
        class: "numbers",
        lineMarker: (view, block) => {
          const number = shown[view.state.doc.lineAt(block.from).number - 1]?.number;
          return new LineNumber(number === null || number === undefined ? "" : String(number + 1));
        },
        initialSpacer: () => new LineNumber("0000"),
      }),
      gutter({
        class: "heats",
        lineMarker: (view, block) => {
          const number = shown[view.state.doc.lineAt(block.from).number - 1]?.number;
          const heat = number === null || number === undefined ? undefined : this.heat.get(number);
          return heat ? new HeatMarker(heat) : null;
        },
        lineMarkerChange: (update) => update.transactions.some((one) => one.effects.some((effect) => effect.is(setHeat))),
      }),
      inSight,
      EditorView.domEventHandlers({
        click: (event, view) => {
          const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
          if (position === null) return;
          const line = view.state.doc.lineAt(position);
          onLine(shown[line.number - 1]?.number ?? null, wordAt(line.text, position - line.from));
        },
        mousemove: (event, view) => {
          const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
          const number = position === null ? null : (shown[view.state.doc.lineAt(position).number - 1]?.number ?? null);
          if (number !== this.hoveredNumber) this.onHover((this.hoveredNumber = number));
        },
        mouseleave: () => this.onHover((this.hoveredNumber = null)),
        keydown: (event, view) => {
          if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return false;
          const position = view.state.selection.main.head;
          const line = view.state.doc.lineAt(position);
          onLine(shown[line.number - 1]?.number ?? null, wordAt(line.text, position - line.from) ?? wordAt(line.text, line.text.indexOf("%")));
          return true;
        },
      }),
    ];
    return EditorState.create({ doc: Text.of(shown.length ? shown.map((line) => line.text) : [""]), extensions });
  }
}

/** The name of a value (`%12`, `%r3`) or of an encoding (`#blocked1`) at a column of a line. */
function wordAt(text: string, column: number): string | null {
  for (const found of text.matchAll(/%[\w$]+(?:#\d+)?|#[a-z]\w*(?![\w.])/g)) {
    if (found.index <= column && column <= found.index + found[0].length) return found[0];
  }
  return null;
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
    builder.add(line.from, line.from, Decoration.line({ class: classes.join(" ") }));
    if (word === null) continue;
    for (const found of line.text.matchAll(word)) {
      const start = line.from + found.index;
      builder.add(start, start + found[0].length, Decoration.mark({ class: "word" }));
    }
  }
  return builder.finish();
}
