// Colours for the texts of a compile: MLIR, LLVM IR, PTX; Python comes with the editor.
import { StreamLanguage, type StreamParser } from "@codemirror/language";
import { python } from "@codemirror/legacy-modes/mode/python";

const assembly: StreamParser<null> = {
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/\/.*/) || stream.match(/^;.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"/)) return "string";
    if (stream.match(/^[%^][\w.$#-]+/)) return "variableName";
    if (stream.match(/^[@!#][\w.$-]+/)) return "atom";
    if (stream.match(/^-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)/)) return "number";
    if (stream.match(/^(?:tensor|vector|ptr|half|float|double|bfloat|[bfisu](?:1|8|16|32|64)|bf16|index)\b/)) return "typeName";
    if (stream.match(/^[a-zA-Z_.][\w.$]*/)) return stream.current().includes(".") ? "keyword" : "propertyName";
    stream.next();
    return null;
  },
};

export const assemblyLanguage = StreamLanguage.define(assembly);
export const pythonLanguage = StreamLanguage.define(python);
