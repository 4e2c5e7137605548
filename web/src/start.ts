// What is offered where nothing was opened: kernels opened before, the examples, the corpus, the tour.
import { Trouble, type Answers, type Offered } from "./answers";
import { button, element, make } from "./dom";
import type { Compile, CompileRequest } from "./payload";

/** Fills the page until a kernel is chosen and compiled. */
export async function chooseKernel(answers: Answers): Promise<Compile> {
  const status = make("p.status", { role: "status", id: "status" });
  const groups = make("div", { id: "groups" });
  const field = make("input", { type: "search", id: "find-kernel", placeholder: "find a kernel by its name, file or description", "aria-label": "find a kernel" }) as HTMLInputElement;
  const own = make("input", { type: "text", id: "own-kernel", placeholder: "FILE.py:kernel, a .ttir, .ttgir, .llir or .ptx file", "aria-label": "a kernel of your own", spellcheck: "false" }) as HTMLInputElement;
  const view = make("main", { id: "start" }, make("h2", {}, "Open a kernel"), make("p.choices", {}, own, button("Open", "Enter", () => void open({ source: own.value.trim() })), tourButton(() => void openTour())), status, field, groups);
  document.body.classList.add("failure");
  document.body.append(view);
  let chosen: (made: Compile) => void = () => undefined;
  const found = new Promise<Compile>((resolve) => (chosen = resolve));

  async function open(asked: CompileRequest): Promise<void> {
    status.textContent = `compiling ${asked.source.split("/").at(-1) ?? ""}…`;
    try {
      const made = await answers.compile(asked, { opens: true });
      view.remove();
      document.body.classList.remove("failure");
      chosen(made);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      status.textContent = error.problem.text;
      status.classList.add("failed");
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
      const seen = kernels.filter((one) => `${title} ${one.title} ${one.about}`.toLowerCase().includes(wanted));
      const list = make("ul", {}, ...seen.map((one) => make("li", {}, kernelButton(one, () => void open(one.asked)))));
      const group = make("details.group", wanted || at < 2 ? { open: "" } : {}, make("summary", {}, title, make("small", {}, ` ${seen.length}`)), list);
      return seen.length ? [group] : [];
    }));
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => { if (event.key === "Enter") groups.querySelector<HTMLButtonElement>("details[open] button")?.click(); });
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
