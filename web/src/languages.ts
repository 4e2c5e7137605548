// Colours for the texts of a compile: MLIR, LLVM IR, PTX; Python comes with the editor.
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";

/** Words of MLIR, LLVM IR and PTX, the first that fits; each of them ends on its line. */
const WORDS: [kind: string | null, pattern: RegExp][] = [
  ["comment", /\/\/.*|;.*/],
  ["string", /"(?:[^"\\]|\\.)*"/],
  ["variableName", /[%^][\w.$#-]+/],
  ["atom", /[@!#][\w.$-]+/],
  ["number", /-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)/],
  ["typeName", /(?:tensor|vector|ptr|half|float|double|bfloat|[bfisu](?:1|8|16|32|64)|bf16|index)\b/],
  ["keyword", /[a-zA-Z_][\w$]*\.[\w.$]*|\.[\w.$]*/],
  [null, /[a-zA-Z_][\w$]*/],
];

const AT_START = WORDS.map(([kind, pattern]) => [kind, new RegExp(`^(?:${pattern.source})`)] as const);

const assembly: StreamParser<null> = {
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    for (const [kind, pattern] of AT_START) if (stream.match(pattern)) return kind;
    stream.next();
    return null;
  },
};

const CLASSES: Record<string, string> = { variableName: "variable", typeName: "type" };
const ANY_WORD = new RegExp(WORDS.map(([, pattern]) => `(${pattern.source})`).join("|"), "g");

/** The same words of one line, for a text that is shown and not edited: those that have a colour, by column. */
export function* assemblyColours(line: string): Iterable<readonly [from: number, to: number, kind: string]> {
  for (const found of line.matchAll(ANY_WORD)) {
    const kind = WORDS[found.findIndex((one, at) => at > 0 && one !== undefined) - 1]![0];
    if (kind !== null) yield [found.index, found.index + found[0].length, CLASSES[kind] ?? kind];
  }
}

export const assemblyLanguage = StreamLanguage.define(assembly);
export const pythonLanguage = StreamLanguage.define(python);
