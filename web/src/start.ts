// What is offered where nothing was opened: kernels opened before, the examples, the corpus, the tour.
import { Trouble, type Answers, type Offered } from "./answers";
import { button, element, make } from "./dom";
import { Editor } from "./editor";
import { pythonLanguage } from "./languages";
import type { Compile, CompileRequest, Problem } from "./payload";
import { showSignature, signatureField, withSignature } from "./signature";

/** Fills the page until a kernel is chosen and compiled. */
export async function chooseKernel(answers: Answers): Promise<Compile> {
  const status = make("p.status", { role: "status", id: "status" });
  const groups = make("div", { id: "groups" });
  const field = make("input", { type: "search", id: "find-kernel", placeholder: "find a kernel by its name, file or description", "aria-label": "find a kernel" }) as HTMLInputElement;
  const own = make("input", { type: "text", id: "own-kernel", placeholder: "FILE.py:kernel, a .ttir, .ttgir, .llir or .ptx file", "aria-label": "a kernel of your own", spellcheck: "false" }) as HTMLInputElement;
  const view = make("main", { id: "start" }, make("h2", {}, "Open a kernel"), make("p.choices", {}, own, button("Open", "Enter", () => void open({ source: own.value.trim() })), tourButton(() => void openTour())), typedKernel((asked) => open(asked, false)), status, field, groups);
  document.body.classList.add("failure");
  document.body.append(view);
  let chosen: (made: Compile) => void = () => undefined;
  const found = new Promise<Compile>((resolve) => (chosen = resolve));

  /** Opens a kernel; the problem, where it does not compile, which it says or not. */
  async function open(asked: CompileRequest, saysProblem = true): Promise<Problem | null> {
    status.classList.remove("failed");
    status.textContent = `compiling ${asked.source.split("/").at(-1) ?? ""}…`;
    try {
      const made = await answers.compile(asked, { opens: true });
      view.remove();
      document.body.classList.remove("failure");
      window.scrollTo(0, 0);
      chosen(made);
      return null;
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      status.textContent = saysProblem ? error.problem.text : "";
      status.classList.add("failed");
      return error.problem;
    }
  }
  async function openTour(): Promise<void> {
    history.replaceState(null, "", "#tab=learn");
    await open((await answers.lessons()).tour[0]!.asked);
  }
  own.addEventListener("keydown", (event) => { if (event.key === "Enter") void open({ source: own.value.trim() }); });
  const offered = (await answers.start()).groups;
  const show = (): void => {
    const wanted = field.value.trim().toLowerCase();
    groups.replaceChildren(...offered.flatMap(({ title, kernels }, at) => {
      const found = kernels.filter((one) => `${title} ${one.title} ${one.about}`.toLowerCase().includes(wanted));
      // Those of that name before those that only speak of it.
      const seen = wanted ? found.sort((a, b) => distanceOf(a, wanted) - distanceOf(b, wanted)) : found;
      const list = make("ul", {}, ...seen.map((one) => make("li", {}, kernelButton(one, () => void open(one.asked)))));
      const group = make("details.group", wanted || at < 2 ? { open: "" } : {}, make("summary", {}, title, make("small", {}, ` ${seen.length}`)), list);
      return seen.length ? [group] : [];
    }));
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") best()?.click(); });
  // The first of the group that has the nearest name.
  const best = (): HTMLButtonElement | undefined => {
    const firsts = [...groups.querySelectorAll<HTMLButtonElement>("details[open] li:first-child button")];
    const distance = (one: HTMLButtonElement): number => distanceOf({ title: one.textContent ?? "" }, field.value.trim().toLowerCase());
    return firsts.sort((a, b) => distance(a) - distance(b))[0];
  };
  show();
  element("kernel").textContent = "start";
  document.body.dataset.ready = "start";
  field.focus();
  return found;
}

function kernelButton(one: Offered, onClick: () => void): HTMLElement {
  const made = make("button.link", { type: "button" }, one.title);
  made.addEventListener("click", onClick);
  return make("div", {}, made, " ", make("span.hint", {}, one.about));
}

function tourButton(onClick: () => void): HTMLElement {
  const made = button("Take the tour", "seven kernels, from Python to machine code", onClick);
  made.id = "take-tour";
  return made;
}

const FILE_OF_TYPED = "typed.py";
const TEMPLATE = `import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at < n)
`;

/** An editor for a kernel that is in no file: `open` says what is wrong with it, which is marked at its line. */
function typedKernel(open: (asked: CompileRequest) => Promise<Problem | null>): HTMLElement {
  const place = make("div.editor", { id: "typed-kernel" });
  const said = make("pre.failed", { id: "typed-problem", role: "status" });
  const which = make("select", { "aria-label": "which kernel of the text", hidden: "" }) as HTMLSelectElement;
  const signature = signatureField();
  showSignature(signature, { source: FILE_OF_TYPED });
  const compile = (): void => {
    const names = kernelsIn(editor.text);
    if (names.join() !== [...which.options].map((one) => one.value).join()) {
      which.replaceChildren(...names.map((name) => new Option(name, name)));
      // What others call is written before them.
      which.value = names.at(-1) ?? "";
    }
    which.hidden = names.length < 2;
    said.textContent = "";
    const source = which.value ? `${FILE_OF_TYPED}:${which.value}` : FILE_OF_TYPED;
    void open(withSignature({ source, kernel_text: editor.text }, signature)).then((problem) => {
      if (!problem) return;
      said.textContent = problem.line ? `line ${problem.line}: ${problem.message}${problem.help ? `\n${problem.help}` : ""}` : problem.text;
      editor.markWrong(problem.line ?? null);
    });
  };
  const editor = new Editor(place, compile);
  signature.addEventListener("keydown", (event) => { if (event.key === "Enter") compile(); });
  const view = make("details", { id: "typed" }, make("summary", {}, "Write or paste a kernel", make("small", {}, " with its imports; types and inputs are made up, and can be changed afterwards")), place,
    make("p.choices", {}, button("Compile this text", "Ctrl-Enter", compile), which, make("label", {}, "signature ", signature)), said);
  view.addEventListener("toggle", () => {
    if (!(view as HTMLDetailsElement).open) return;
    if (!editor.text) editor.show(TEMPLATE, pythonLanguage);
    editor.focus();
  });
  return view;
}

/** The functions of a text that are compiled by themselves. */
function kernelsIn(text: string): string[] {
  return [...text.matchAll(/^@(?:\w+\.)*jit\b[^\n]*\n(?:@[^\n]*\n)*def (\w+)/gm)].map((found) => found[1]!);
}

/** How far a kernel's name is from what is looked for: the same, has it in it, or only what is said of the kernel has. */
function distanceOf(one: { title: string }, wanted: string): number {
  const title = one.title.toLowerCase();
  return title === wanted ? 0 : title.includes(wanted) ? 1 : 2;
}
