// An encoding as a form: a field for each number of it, so that a layout is changed beside its picture.
import { make } from "./dom";

/** The name of an encoding, and its fields as text: `#ttg.blocked<{order = [1, 0]}>` is "blocked" and [["order", "[1, 0]"]]. */
export interface Encoding {
  name: string;
  fields: [name: string, value: string][];
}

const WHOLE = /^#ttg\.(\w+)<(\{.*\})>$/s;

/** What an encoding's text says; null for one that has no named fields. */
export function parseEncoding(text: string): Encoding | null {
  const found = WHOLE.exec(text.trim());
  if (!found) return null;
  const fields = split(found[2]!.slice(1, -1)).map((one) => {
    const at = one.indexOf(" = ");
    return [one.slice(0, at).trim(), one.slice(at + 3).trim()] as [string, string];
  });
  return fields.every(([name]) => /^\w+$/.test(name)) ? { name: found[1]!, fields } : null;
}

export function printEncoding({ name, fields }: Encoding): string {
  return `#ttg.${name}<{${fields.map(([field, value]) => `${field} = ${value}`).join(", ")}}>`;
}

/** The items of a list, at commas outside of brackets. */
function split(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    if ("[{<(".includes(text[at]!)) depth++;
    else if ("]}>)".includes(text[at]!)) depth--;
    else if (text[at] === "," && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)].filter((one) => one.trim());
}

/** Numbers that are not sizes: up and down change them by one. */
const COUNTED = new Set(["order", "dim", "opIdx", "versionMajor", "versionMinor", "rank"]);

const NUMBER = /^-?\d+$/;
const NUMBERS = /^\[\s*(-?\d+(?:\s*,\s*-?\d+)*)?\s*\]$/;

/** A form; `onChange` is given the encoding that its fields say whenever one changes. */
export class EncodingForm {
  readonly element: HTMLElement;
  private readonly fields: { name: string; value: () => string }[];

  constructor(
    private readonly encoding: Encoding,
    private readonly onChange: (text: string) => void,
  ) {
    this.fields = [];
    this.element = make("fieldset.encoding", {}, make("legend", {}, encoding.name));
    for (const [name, value] of encoding.fields) {
      const inputs = this.inputs(name, value);
      this.element.append(make("label", {}, `${name} `, ...inputs.elements));
      this.fields.push({ name, value: inputs.value });
    }
  }

  get text(): string {
    return printEncoding({ name: this.encoding.name, fields: this.fields.map(({ name, value }) => [name, value()]) });
  }

  private inputs(name: string, value: string): { elements: HTMLElement[]; value: () => string } {
    if (value === "true" || value === "false") {
      const box = make("input", { type: "checkbox", "aria-label": name }) as HTMLInputElement;
      box.checked = value === "true";
      box.addEventListener("change", () => this.onChange(this.text));
      return { elements: [box], value: () => String(box.checked) };
    }
    if (NUMBER.test(value)) {
      const one = this.number(name, value, name);
      return { elements: [one], value: () => one.value.trim() };
    }
    const list = NUMBERS.exec(value);
    if (list) {
      const all = (list[1] ?? "").split(",").filter((one) => one.trim()).map((one, at) => this.number(name, one.trim(), `${name} ${at}`));
      return { elements: all, value: () => `[${all.map((one) => one.value.trim()).join(", ")}]` };
    }
    const text = make("input", { type: "text", size: String(Math.min(60, value.length)), "aria-label": name }) as HTMLInputElement;
    text.value = value;
    text.addEventListener("input", () => this.onChange(this.text));
    return { elements: [text], value: () => text.value.trim() };
  }

  private number(name: string, value: string, label: string): HTMLInputElement {
    const made = make("input", { type: "text", inputmode: "numeric", size: "3", "aria-label": label, title: "up and down: twice and half" }) as HTMLInputElement;
    made.value = value;
    made.addEventListener("input", () => this.onChange(this.text));
    made.addEventListener("keydown", (event) => {
      const up = { ArrowUp: true, ArrowDown: false }[event.key];
      const now = Number(made.value);
      if (up === undefined || !Number.isInteger(now)) return;
      event.preventDefault();
      if (COUNTED.has(name)) made.value = String(Math.max(0, now + (up ? 1 : -1)));
      else made.value = String(up ? Math.max(1, now * 2) : Math.max(1, now >> 1));
      this.onChange(this.text);
    });
    return made;
  }
}

/** Where a state's text defines an encoding: an alias whose encoding is `encoding`, or stands within it, and the text without it. */
export interface Alias {
  line: number;
  name: string;
  text: string;
  /** The encoding with `replacement` in the alias's place. */
  within: (replacement: string) => string;
}

export function aliasOf(encoding: string, state: readonly string[]): Alias | null {
  const found: Alias[] = [];
  state.forEach((line, number) => {
    const at = line.indexOf(" = ");
    const text = line.slice(at + 3);
    if (!line.startsWith("#") || at < 0 || !encoding.includes(text) || !parseEncoding(text)) return;
    found.push({ line: number, name: line.slice(0, at), text, within: (replacement) => encoding.replaceAll(text, replacement) });
  });
  return found.sort((a, b) => b.text.length - a.text.length)[0] ?? null;
}
