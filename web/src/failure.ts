// What is shown of a kernel that does not compile: what is wrong, at its line, and an editor to mend it in.
import { Trouble, type Answers } from "./answers";
import { button, element, make } from "./dom";
import { Editor } from "./editor";
import { assemblyLanguage, pythonLanguage } from "./languages";
import type { CompileRequest, Compile, Problem } from "./payload";
import { isPython, showSignature, signatureField, withSignature } from "./signature";

/** Fills the page with `problem`; `onCompiled` takes the compile that it ends with. */
export function showFailure(problem: Problem, asked: CompileRequest, answers: Answers, onCompiled: (made: Compile) => void): void {
  const status = make("p.status", { role: "status", id: "status" });
  const place = make("div.editor", { id: "editor" });
  const message = make("pre", { id: "failure" });
  let editor: Editor | null = null;

  async function compile(given: CompileRequest, again: boolean): Promise<void> {
    status.textContent = "compiling…";
    try {
      const made = await answers.compile(given, { again });
      view.remove();
      document.body.classList.remove("failure");
      onCompiled(made);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      say(error.problem);
      status.textContent = "";
    }
  }
  function say(found: Problem): void {
    message.textContent = found.text;
    editor?.markWrong(found.line ?? null);
  }

  const signature = signatureField();
  showSignature(signature, asked);
  const given = (): CompileRequest => withSignature(asked, signature);
  const mended = (): CompileRequest => ({ ...given(), kernel_text: editor!.text });
  const again = button("Compile the file again", "after a change on disk", () => void compile(given(), true));
  signature.addEventListener("keydown", (event) => { if (event.key === "Enter") void compile(given(), true); });
  again.id = "again";
  const view = make("main", { id: "failed" },
    make("h2", {}, `${asked.source.split("/").at(-1)} does not compile`), message, isPython(asked) ? make("p.options", {}, make("label", {}, "signature ", signature)) : null, make("p.choices", {}, again), status);
  if (problem.source !== undefined && problem.source !== null) {
    const isKernel = (problem.file ?? "").endsWith(".py");
    editor = new Editor(place, () => void compile(mended(), false));
    const mend = button("Compile this text", "Ctrl-Enter", () => void compile(mended(), false));
    mend.id = "mend";
    if (isKernel) view.querySelector(".choices")!.append(mend);
    view.append(make("h3", {}, problem.file ?? ""), place);
    editor.show(problem.source, isKernel ? pythonLanguage : assemblyLanguage);
  }
  document.body.classList.add("failure");
  document.body.append(view);
  element("kernel").textContent = asked.source.split(/[:/]/).at(-1) ?? "";
  say(problem);
}
