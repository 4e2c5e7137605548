// A value's facts with the chain behind each, the width of a load or store with what limits it, what a movement costs.
import { make, table, withCode } from "./dom";
import { dotSentence } from "./dots";
import { helpOn } from "./help";
import { declaredAt, stepOf, type Access, type Claim, type Inspection, type Movement, type ValueFact } from "./payload";
import type { Session } from "./session";

const CLAIMS: Record<Claim, string> = {
  contiguity: "elements in a row, each its predecessor plus 1",
  divisibility: "divides the first of each such row (of pointers: in bytes)",
  constancy: "elements in a row that are equal",
};
type Limit = [name: string, claim: Claim, axis: number] | null;

const EVERYTHING = 2 ** 61;

export class FactsTab {
  constructor(
    private readonly session: Session,
    private readonly into: HTMLElement,
    private readonly showLayout: () => void,
  ) {}

  /** Of the last `show`: what an earlier one was still waiting for must not cover its drawing. */
  private shown = 0;

  async show(): Promise<void> {
    const number = ++this.shown;
    const { view } = this.session;
    const name = view.value?.startsWith("%") ? view.value.slice(1) : null;
    const right = await this.session.inspected(view.right);
    const left = await this.session.inspected(view.left);
    if (number !== this.shown) return;
    const found = [right, left].find((one) => one && ((name !== null && one.inspection.values[name]) || one.inspection.movements[view.op] || one.inspection.accesses[view.op] || one.inspection.in_flight?.[view.op])) ?? right;
    const help = helpOn(view.text, view.level, this.session.compile);
    if (!found || view.level === "ptx" || view.level === "sass") {
      const hint = make("p.hint", {}, "Facts are known of TTIR and TTGIR: choose a pass of theirs, and click a value.");
      this.into.replaceChildren(...this.dot(), ...(help ? [help] : [hint]), ...this.declared());
      return;
    }
    const { inspection } = found;
    const parts = this.dot();
    const access = inspection.accesses[view.op] ?? (name === null ? this.accessOfLine(inspection) : undefined);
    if (access) parts.push(this.access(access, inspection));
    const movement = inspection.movements[view.op];
    if (movement) parts.push(this.movement(movement));
    const inFlight = inspection.in_flight?.[view.op];
    if (inFlight) parts.push(make("section.card", { id: "in-flight" }, make("h4", {}, "In flight after this op"), ...inFlight.text.split("; ").map((line) => make("p", {}, line))));
    const history = this.history();
    if (history) parts.push(history);
    const fact = name === null ? undefined : inspection.values[name];
    if (name !== null && fact) parts.push(this.value(name, fact, inspection));
    else if (!access && !movement && !inFlight) parts.push(this.ofLine(inspection));
    if (name === null) parts.push(...this.declared());
    if (help) parts.push(help);
    this.into.replaceChildren(...parts);
  }

  /** Which dot of the source the chosen op or instruction is of. */
  private dot(): HTMLElement[] {
    const { view, compile } = this.session;
    const sentence = dotSentence(compile, view.text, view.place);
    return sentence === null ? [] : [make("section.card", { id: "which-dot" }, make("h4", {}, "Which dot"), make("p", {}, ...withCode(sentence)))];
  }

  /** Which passes made the chosen op, changed it, and removed it. */
  private history(): HTMLElement | null {
    const { view, compile } = this.session;
    const texts = view.op ? compile.states.map((state) => (state.op.includes(view.op) ? state.text[state.op.indexOf(view.op)]!.trim() : null)) : [];
    const first = texts.findIndex((one) => one !== null);
    if (first < 0) return null;
    const pass = (state: number): HTMLElement => {
      const step = stepOf(compile, state);
      const made = make("button.link", { type: "button" }, compile.steps[step]?.name ?? "");
      made.addEventListener("click", () => this.session.choose({ step }));
      return made;
    };
    const changed = texts.flatMap((one, at) => (at > first && one !== null && texts[at - 1] !== null && one !== texts[at - 1] ? [at] : []));
    const gone = texts.findIndex((one, at) => at > first && one === null);
    const rows: [string, HTMLElement][] = [["introduced by", pass(first)]];
    if (changed.length) rows.push(["changed by", make("span.chain", {}, ...changed.flatMap((at, place) => [place ? ", " : "", pass(at)]))]);
    if (gone >= 0) rows.push(["removed by", pass(gone)]);
    return make("section.card", { id: "history" }, make("h4", {}, "This op", make("small", {}, ` ${opName(texts.findLast((one) => one !== null) ?? "")}`)), table(["", ""], rows));
  }

  private accessOfLine(inspection: Inspection): Access | undefined {
    const { place } = this.session.view;
    if (!place) return undefined;
    return Object.values(inspection.accesses).find((one) => {
      const line = (one as Access & { line?: [number, number] | null }).line;
      return line?.[0] === place.file && line[1] === place.line;
    });
  }

  private value(name: string, fact: ValueFact, inspection: Inspection): HTMLElement {
    const type = inspection.types[fact.type];
    const rows = (Object.keys(CLAIMS) as Claim[]).flatMap((claim) => {
      const numbers = fact.claims?.[claim];
      return numbers ? [[make("b", { title: CLAIMS[claim] }, claim), numbers.map(shown).join(" × "), this.chain(name, claim, inspection)]] : [];
    });
    if (fact.constant !== undefined) rows.push([make("b", {}, "constant"), String(fact.constant), make("span")]);
    else if (fact.range) rows.push([make("b", {}, "range"), `${fact.range[0]} … ${fact.range[1]}`, make("span")]);
    return make(
      "section.card",
      { id: "fact" },
      make("h4", {}, `%${name}`, make("small", {}, ` by ${fact.origin}${fact.line ? `, line ${fact.line[1]}` : ""}`)),
      make("code.type", {}, type?.text ?? ""),
      type?.layout === undefined ? null : make("span", {}, " ", this.layoutLink()),
      rows.length ? table(["fact", "along each axis", "because of"], rows) : make("p.hint", {}, "Of numbers that are computed with nothing more is known: facts are of integers and pointers."),
      fact.rule ? make("p.rule", {}, `Rule of ${fact.origin}: ${fact.rule}`) : null,
    );
  }

  /** The layouts that the chosen line writes. */
  private declared(): HTMLElement[] {
    const { view, compile } = this.session;
    const found = declaredAt(compile, view.place);
    return found.length ? [make("section.card", { id: "declared" }, make("h4", {}, `Layouts of line ${view.place?.line ?? ""}`), ...found.map((one) => make("p", {}, make("code.type", {}, one.text))), this.layoutLink())] : [];
  }

  private layoutLink(): HTMLElement {
    const made = make("button.link", { type: "button" }, "layout as a picture");
    made.addEventListener("click", this.showLayout);
    return made;
  }

  /** The values from this one to where the limit of a claim comes from, each to be clicked. */
  private chain(name: string, claim: Claim, inspection: Inspection): HTMLElement {
    const row = make("span.chain");
    const seen = new Set<string>();
    const first = inspection.values[name]?.limits?.[claim] ?? [];
    let axis = Math.max(0, first.findIndex((one) => one !== null));
    for (let at: string | undefined = name; at !== undefined && !seen.has(at); ) {
      seen.add(at);
      const fact: ValueFact | undefined = inspection.values[at];
      if (!fact) break;
      if (at !== name) row.append(" ← ", this.link(at, fact));
      const limits: Limit[] = fact.limits?.[claim] ?? [];
      const next: Limit | undefined = limits[Math.min(axis, limits.length - 1)];
      at = next?.[0];
      if (next) [, claim, axis] = next;
    }
    return row;
  }

  private link(name: string, fact: ValueFact): HTMLElement {
    const made = make("button.link", { type: "button", title: fact.rule ?? "" }, `%${name} ${fact.origin}${fact.line ? `:${fact.line[1]}` : ""}`);
    made.addEventListener("click", () => {
      const place = fact.line ? { file: fact.line[0], line: fact.line[1] } : this.session.view.place;
      this.session.choose({ value: `%${name}`, place, op: 0 });
    });
    return made;
  }

  private access(access: Access, inspection: Inspection): HTMLElement {
    const cells = make("span.width", { title: `${access.width} of at most ${access.most} elements at a time` });
    for (let at = 0; at < access.most; at++) cells.append(make(at < access.width ? "i.used" : "i"));
    const chain = make("span.chain");
    access.chain.forEach((name, at) => {
      const fact = inspection.values[name];
      if (fact) chain.append(at ? " ← " : "", this.link(name, fact));
    });
    return make(
      "section.card",
      { id: "access" },
      make("h4", {}, access.name, make("small", {}, ` ${access.width * access.bytes} bytes at a time, of at most ${access.most * access.bytes}`), cells),
      access.limit ? make("p", {}, make("b", {}, `limited by the ${access.limit}`), `: ${access.reason}`) : make("p", {}, "as wide as can be"),
      access.chain.length ? make("p", {}, chain) : null,
      access.hint ? make("p.advice", {}, ...withCode(`To widen it: ${access.hint}`)) : null,
    );
  }

  private movement(movement: Movement): HTMLElement {
    return make("section.card", { id: "movement" }, make("h4", {}, movement.name), ...movement.cost.text.split("\n").map((line) => make("p", {}, line)), this.layoutLink());
  }

  /** Everything that the chosen line of the kernel made. */
  private ofLine(inspection: Inspection): HTMLElement {
    const { place } = this.session.view;
    const values = place ? Object.entries(inspection.values).filter(([, fact]) => fact.line?.[0] === place.file && fact.line[1] === place.line) : [];
    if (!values.length && declaredAt(this.session.compile, place).length) return make("p.hint", {}, "No op of this line is left in this state.");
    if (!values.length) return make("p.hint", {}, "Click a value (%12), a load or store, or a line of the kernel.");
    return make("section.card", { id: "line-facts" }, make("h4", {}, `line ${place?.line ?? ""}`), table(
      ["value", "type", "contiguity", "divisibility", "constancy", "range"],
      values.map(([name, fact]) => [
        this.link(name, fact),
        make("code", {}, inspection.types[fact.type]?.text ?? ""),
        ...(Object.keys(CLAIMS) as Claim[]).map((claim) => (fact.claims?.[claim] ?? []).map(shown).join(" × ")),
        fact.constant !== undefined ? `always ${fact.constant}` : fact.range ? `${fact.range[0]} … ${fact.range[1]}` : "",
      ]),
    ));
  }
}

const opName = (text: string): string => text.replace(/^.*? = /, "").replace(/^"/, "").split(/[\s"(]/)[0] ?? "";

const shown = (number: number): string => (number >= EVERYTHING ? "any" : String(number));
