// What is shown, as a file that needs no server: to be kept, or sent to somebody.
import { Trouble } from "./answers";
import { button } from "./dom";
import type { Compile } from "./payload";
import type { Session } from "./session";

/** A button that writes a file of compiles; those of Triton's are in it in any case. */
export function saveButton(session: Session, compiles: () => readonly Compile[]): HTMLButtonElement {
  const text = "save as a file";
  const made = button(text, "a page that needs no server: passes, facts, costs, comparisons, Triton’s side and the tour", () => {
    const shown = compiles().flatMap((one) => (one.asked ? [one.asked] : []));
    made.disabled = true;
    made.textContent = "writing the file…";
    session.answers.file(shown).then((html) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([html], { type: "text/html" }));
      link.download = `${session.compile.kernel}.html`;
      link.click();
      window.setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      made.textContent = `saved as ${link.download}`;
    }).catch((error: unknown) => {
      made.textContent = text;
      made.title = error instanceof Trouble ? error.problem.text : String(error);
      made.classList.add("failed");
    }).finally(() => (made.disabled = false));
  });
  made.classList.add("save");
  return made;
}
