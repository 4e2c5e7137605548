// The types of a kernel's parameters and its constants, as they are typed: where a kernel is changed, and where it does not compile.
import { make } from "./dom";
import type { CompileRequest } from "./payload";

/** A field for the types of a kernel's parameters. */
export function signatureField(): HTMLInputElement {
  return make("input.signature", { type: "text", name: "signature", "aria-label": "signature", spellcheck: "false", title: "the type of each parameter, :16 where 16 divides it, NAME=VALUE for those known at compile time" }) as HTMLInputElement;
}

/** Shows the signature of `asked` in `field`, or the one that was made up; what stands for an empty one. */
export function showSignature(field: HTMLInputElement, asked: CompileRequest, madeUp = ""): void {
  field.value = asked.signature ?? madeUp;
  field.dataset.madeUp = madeUp;
  field.placeholder = asked.launch ? "as it was launched" : "made up as the body uses its parameters";
}

/** `asked` with the signature of `field`; an empty one, and what was made up, is made up again. */
export function withSignature(asked: CompileRequest, field: HTMLInputElement): CompileRequest {
  const text = field.value.trim();
  const changed = { ...asked, signature: text === field.dataset.madeUp ? "" : text };
  if (!changed.signature) delete (changed as Partial<CompileRequest>).signature;
  return changed;
}

/** Whether the program is a file of Python, whose kernels have a signature. */
export function isPython(asked: CompileRequest): boolean {
  return /\.py(:|$)/.test(asked.source);
}
