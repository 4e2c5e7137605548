// A read-only text with classes on its lines, which tells what line or word was clicked and marks what it is told to.
import { HighlightStyle, syntaxHighlighting, type Language } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, RangeSetBuilder, StateEffect, StateField, type Extension } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, keymap, type DecorationSet } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** One shown line: its text, number in its own text (null for filler), and class. */
export interface Shown {
  text: string;
  number: number | null;
  kind: string;
}

interface Marks {
  lines: ReadonlySet<number>;
  word: string | null;
}

const setMarks = StateEffect.define<Marks>();

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "t-comment" },
  { tag: tags.keyword, class: "t-keyword" },
  { tag: tags.string, class: "t-string" },
  { tag: tags.number, class: "t-number" },
  { tag: tags.atom, class: "t-atom" },
  { tag: tags.variableName, class: "t-variable" },
  { tag: tags.typeName, class: "t-type" },
]);

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

  constructor(
    parent: HTMLElement,
    label: string,
    private readonly language: Language,
    onLine: (number: number | null, word: string | null) => void,
  ) {
    this.view = new EditorView({ parent, state: this.stateFor([], label, onLine) });
    this.restart = (shown) => this.view.setState(this.stateFor(shown, label, onLine));
  }

  private readonly restart: (shown: Shown[]) => void;

  show(shown: Shown[]): void {
    this.shown = shown;
    this.byNumber = new Map(shown.flatMap((line, at) => (line.number === null ? [] : [[line.number, at] as const])));
    this.restart(shown);
  }

  /** Marks lines (by their own numbers) and every use of a word; scrolls to the first of them if none is in sight. */
  mark(numbers: readonly number[], word: string | null, scroll: boolean): void {
    const lines = new Set(numbers.flatMap((number) => this.byNumber.get(number) ?? []));
    this.view.dispatch({ effects: setMarks.of({ lines, word }) });
    const first = lines.values().next().value;
    if (scroll && first !== undefined) this.scrollToLine(first);
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
    const line = this.view.state.doc.line(at + 1);
    this.view.dispatch({ effects: EditorView.scrollIntoView(line.from, { y }) });
  }

  get scroller(): HTMLElement {
    return this.view.scrollDOM;
  }

  private stateFor(shown: Shown[], label: string, onLine: (n: number | null, word: string | null) => void): EditorState {
    const marks = StateField.define<DecorationSet>({
      create: (state) => decorations(state, shown, { lines: new Set(), word: null }),
      update(value, transaction) {
        const effect = transaction.effects.find((one) => one.is(setMarks));
        return effect ? decorations(transaction.state, shown, effect.value as Marks) : value;
      },
      provide: (field) => EditorView.decorations.from(field),
    });
    const extensions: Extension[] = [
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      this.language.extension,
      syntaxHighlighting(colours),
      search({ top: true }),
      keymap.of(searchKeymap),
      gutter({
        class: "numbers",
        lineMarker: (view, block) => {
          const number = shown[view.state.doc.lineAt(block.from).number - 1]?.number;
          return new LineNumber(number === null || number === undefined ? "" : String(number + 1));
        },
        initialSpacer: () => new LineNumber("0000"),
      }),
      marks,
      EditorView.domEventHandlers({
        click: (event, view) => {
          const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
          if (position === null) return;
          const line = view.state.doc.lineAt(position);
          onLine(shown[line.number - 1]?.number ?? null, wordAt(line.text, position - line.from));
        },
      }),
    ];
    return EditorState.create({ doc: shown.map((line) => line.text).join("\n"), extensions });
  }
}

/** The value name (`%12`, `%r3`) at a column of a line. */
function wordAt(text: string, column: number): string | null {
  for (const found of text.matchAll(/%[\w$]+/g)) {
    if (found.index <= column && column <= found.index + found[0].length) return found[0];
  }
  return null;
}

function decorations(state: EditorState, shown: readonly Shown[], marks: Marks): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const word = marks.word === null ? null : new RegExp(`${marks.word.replace(/[$]/g, "\\$&")}(?![\\w$])`, "g");
  for (let at = 0; at < state.doc.lines; at++) {
    const line = state.doc.line(at + 1);
    const classes = [`k-${shown[at]?.kind ?? "same"}`];
    if (marks.lines.has(at)) classes.push("marked");
    builder.add(line.from, line.from, Decoration.line({ class: classes.join(" ") }));
    if (word === null) continue;
    for (const found of line.text.matchAll(word)) {
      const from = line.from + found.index;
      builder.add(from, from + found[0].length, Decoration.mark({ class: "word" }));
    }
  }
  return builder.finish();
}
