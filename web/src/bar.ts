// A bar over the panes: what the compile that is shown changes of the default, each change with its undoing; and a legend.
import { button, element, make } from "./dom";
import type { Compile, CompileRequest } from "./payload";
import { askedOf, type Session } from "./session";

interface Difference {
  text: string;
  without: CompileRequest;
}

/** What `asked` has in addition to the program and what it is run with, and what asks for the same without it. */
export function differences(asked: CompileRequest, base?: Compile): Difference[] {
  const left = <K extends keyof CompileRequest>(...names: K[]): CompileRequest => {
    const found = { ...asked };
    for (const name of names) delete (found as Partial<CompileRequest>)[name];
    return found;
  };
  const without = (name: "edits" | "options" | "states", at: number): CompileRequest => {
    const rest = asked[name]!.filter((_, index) => index !== at);
    return rest.length ? { ...asked, [name]: rest } : left(name);
  };
  return [
    ...(asked.kernel_text === undefined ? [] : [{ text: "the kernel edited", without: left("kernel_text") }]),
    ...(asked.pipeline === undefined ? [] : [{ text: "other passes", without: left("pipeline") }]),
    ...(asked.edits ?? []).map(([kind, text], at) => ({ text: inWords(kind, text), without: without("edits", at) })),
    ...(asked.states ?? []).map((one, at) => ({ text: `IR edited after pass ${one.after}`, without: without("states", at) })),
    ...(asked.options ?? []).map((text, at) => ({ text, without: without("options", at) })),
    ...constantsChanged(asked, base).map((text) => ({ text, without: base?.asked?.signature ? { ...asked, signature: base.asked.signature } : left("signature") })).slice(0, 1),
    ...(asked.anyway ? [{ text: "contracts of passes not asked", without: left("anyway") }] : []),
  ];
}

/** The constants of the signature that are not those of the first compile, as one text. */
function constantsChanged(asked: CompileRequest, base?: Compile): string[] {
  const constants = (text = ""): Map<string, string> => new Map([...text.matchAll(/(?:^|,)\s*(\w+)=(\d+|True|False)(?=,|$)/g)].map((found) => [found[1]!, found[2]!]));
  const before = constants(base?.asked?.signature || base?.made_up);
  const changed = [...constants(asked.signature)].filter(([name, value]) => before.has(name) && before.get(name) !== value).map((pair) => pair.join("="));
  return changed.length ? [changed.join(", ")] : [];
}

export function inWords(kind: string, text: string): string {
  const [name = "", ...where] = text.split(" ");
  if (kind === "skip") return `${text} left out`;
  return kind === "move" ? `${name} moved ${where.join(" ")}` : kind === "insert" ? `${name} put in ${where.join(" ")}` : `${text} set`;
}

/** Fills the bar. `compile` is null where nothing can be compiled. */
export function showDifferences(session: Session, compile: ((asked: CompileRequest) => void) | null, onInputs: () => void): void {
  const bar = element("differs");
  const asked = session.compile.asked;
  const found = asked ? differences(asked, session.base) : [];
  const parts: (Node | string)[] = [];
  if (found.length) parts.push(make("b", {}, `${found.length} ${found.length === 1 ? "change" : "changes"}:`));
  for (const one of found) parts.push(make("span", {}, one.text, ...(compile ? [" · ", link("undo", `without it: ${one.text}`, () => compile(one.without))] : [])));
  if (compile && found.length > 1) parts.push(link("undo all", "the default", () => compile(plain(askedOf(session.compile)))));
  if (session.compile.made_up) parts.push(make("span.made-up", {}, "types and inputs are made up", ...(compile ? [" · ", link("see and change them", "What if", onInputs)] : [])));
  bar.hidden = parts.length === 0;
  bar.replaceChildren(...parts);
}

function plain(asked: CompileRequest): CompileRequest {
  const found: Partial<CompileRequest> = { ...asked };
  for (const name of ["kernel_text", "pipeline", "edits", "states", "options", "anyway"] as const) delete found[name];
  return found as CompileRequest;
}

function link(text: string, title: string, onClick: () => void): HTMLElement {
  const made = button(text, title, onClick);
  made.className = "link";
  return made;
}

const KINDS = [["changed", "~ changed"], ["moved", "↕ moved"], ["removed", "− removed"], ["added", "+ added"]] as const;

/** Says what the colours and numbers mean that are on the page. */
export function showLegend(numbers: string): void {
  element("legend").replaceChildren(
    ...KINDS.map(([kind, text]) => make(`span.k-${kind}`, {}, text)),
    make("span.k-filler.aside", {}, "nothing on this side"),
    make("span.marked", {}, "the chosen line"),
    make("span", {}, "next to a pass: its time, lines changed; ✓ the numbers hold after it, ✗ they do not"),
    ...(numbers ? [make("span.numbers-legend", {}, numbers)] : []),
  );
}
