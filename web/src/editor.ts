// An editor for the text of a kernel, of IR or of a pipeline.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, indentUnit, type Language } from "@codemirror/language";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import { highlighting, withNonce } from "./pane";

const setWrong = StateEffect.define<number | null>();

const wrongLine = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setWrong)) continue;
      const line = effect.value;
      if (line === null || line < 1 || line > transaction.state.doc.lines) return Decoration.none;
      return Decoration.set([Decoration.line({ class: "wrong" }).range(transaction.state.doc.line(line).from)]);
    }
    return value.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class Editor {
  private readonly view: EditorView;

  constructor(
    parent: HTMLElement,
    private readonly onCompile: () => void,
  ) {
    parent.dataset.editing = "true";
    this.view = new EditorView({ parent, extensions: withNonce });
  }

  show(text: string, language: Language | null): void {
    this.view.setState(
      EditorState.create({
        doc: text,
        extensions: [
          EditorView.contentAttributes.of({ "aria-label": "edited text", tabindex: "0" }),
          keymap.of([{ key: "Mod-Enter", run: () => (this.onCompile(), true) }, ...searchKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap, { key: "Escape", run: (view) => (view.contentDOM.blur(), true) }]),
          history(),
          drawSelection(),
          lineNumbers(),
          bracketMatching(),
          indentUnit.of("    "),
          search({ top: true }),
          wrongLine,
          highlighting,
          withNonce,
          ...(language ? [language.extension] : [EditorView.lineWrapping]),
        ],
      }),
    );
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Marks a line (from 1) as wrong, and goes there. */
  markWrong(line: number | null): void {
    const effects: StateEffect<unknown>[] = [setWrong.of(line)];
    if (line !== null && line >= 1 && line <= this.view.state.doc.lines) effects.push(EditorView.scrollIntoView(this.view.state.doc.line(line).from, { y: "center" }));
    this.view.dispatch({ effects });
  }

  focus(): void {
    this.view.focus();
  }
}
