// A bar over the panes: what the compile that is shown changes of the default, each change with its undoing; and a legend.
import { button, element, make } from "./dom";
import { archName, type Compile, type CompileRequest } from "./payload";
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
  // A kernel that was typed on the start page is in no file.
  const typed = base?.asked?.kernel_text;
  return [
    ...(asked.kernel_text === undefined || asked.kernel_text === typed ? [] : [{ text: "the kernel edited", without: typed === undefined ? left("kernel_text") : { ...asked, kernel_text: typed } }]),
    ...(asked.pipeline === undefined ? [] : [{ text: "other passes", without: left("pipeline") }]),
    ...(asked.edits ?? []).map(([kind, text], at) => ({ text: inWords(kind, text), without: without("edits", at) })),
    ...(asked.states ?? []).map((one, at) => ({ text: `IR edited after pass ${one.after}`, without: without("states", at) })),
    ...(asked.options ?? []).map((text, at) => ({ text, without: without("options", at) })),
    ...signatureChanged(asked, base).map((text) => ({ text, without: base?.asked?.signature ? { ...asked, signature: base.asked.signature } : left("signature") })),
    ...(["arch", "grid"] as const).filter((name) => isChanged(name, asked, base)).map((name) => ({ text: name === "arch" ? archName(asked.arch!) : `grid ${asked.grid}`, without: base?.asked?.[name] === undefined ? left(name) : { ...asked, [name]: base.asked[name] } })),
    ...(asked.anyway ? [{ text: "contracts of passes not asked", without: left("anyway") }] : []),
  ];
}

/** Whether `asked` names another architecture or grid than the first compile has. */
function isChanged(name: "arch" | "grid", asked: CompileRequest, base?: Compile): boolean {
  const first = base?.asked?.[name] ?? (name === "arch" ? base?.arch : undefined);
  return base !== undefined && asked[name] !== undefined && String(asked[name]) !== String(first);
}

/** What the signature changes of that of the first compile, as one text: its constants, or else that there is another. */
function signatureChanged(asked: CompileRequest, base?: Compile): string[] {
  const first = base?.asked?.signature || base?.made_up || "";
  if (!asked.signature || asked.signature === first || base === undefined || asked === base.asked) return [];
  const constants = (text: string): Map<string, string> => new Map([...text.matchAll(/(?:^|,)\s*(\w+)=(\d+|True|False)(?=,|$)/g)].map((found) => [found[1]!, found[2]!]));
  const before = constants(first);
  const changed = [...constants(asked.signature)].filter(([name, value]) => first === "" || (before.has(name) && before.get(name) !== value));
  return [changed.map((pair) => pair.join("=")).join(", ") || "another signature"];
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
  if (compile && found.length > 1) parts.push(link("undo all", "the default", () => compile(plain(askedOf(session.compile), session.base.asked))));
  if (session.compile.made_up) parts.push(make("span.made-up", {}, "types and inputs are made up", ...(compile ? [" · ", link("see and change them", "What if", onInputs)] : [])));
  bar.hidden = parts.length === 0;
  bar.replaceChildren(...parts);
}

function plain(asked: CompileRequest, first?: CompileRequest): CompileRequest {
  const found: Partial<CompileRequest> = { ...asked };
  for (const name of ["kernel_text", "pipeline", "edits", "states", "options", "anyway"] as const) delete found[name];
  for (const name of ["kernel_text", "signature", "arch", "grid"] as const) {
    if (first?.[name] === undefined) delete found[name];
    else Object.assign(found, { [name]: first[name] });
  }
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
