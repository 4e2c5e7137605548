// What stands on a line, explained: its op or instruction, the encodings and types on it, each with where it is specified.
import { make, withCode } from "./dom";
import type { Compile } from "./payload";

const PTX = "https://docs.nvidia.com/cuda/parallel-thread-execution/";
const SASS = "https://docs.nvidia.com/cuda/cuda-binary-utilities/#instruction-set-reference";

/** By how an instruction of PTX or SASS begins, the longest first where several fit: what it does, and what it costs. */
const INSTRUCTIONS: readonly (readonly [start: RegExp, text: string])[] = [
  [/^wgmma\.mma_async|^HGMMA|^IGMMA|^QGMMA/, "Multiplies tiles on the tensor cores, started by the four warps of a warpgroup and asynchronous: operands are read from shared memory by a descriptor (A may be in registers), the accumulator stays in registers and may be read after a wait only."],
  [/^wgmma\.(fence|commit_group|wait_group)|^WARPGROUP/, "Orders wgmma: the fence before the first, the group that is committed, the wait until at most N groups are in flight."],
  [/^mma(\.sync)?|^HMMA|^IMMA|^DMMA/, "Multiplies small tiles on the tensor cores, by one warp: fragments of A, B and the accumulator are in registers, in a layout that the instruction fixes."],
  [/^ldmatrix|^LDSM/, "Loads 8x8 matrices of 16-bit elements from shared memory into fragments of an MMA: a lane gives the address of each row."],
  [/^stmatrix|^STSM/, "Stores fragments of an MMA as 8x8 matrices to shared memory."],
  [/^cp\.async\.bulk|^UBLKCP|^UTMALDG|^UTMASTG/, "Copies a box between global and shared memory by the tensor memory accelerator: one thread starts it, an mbarrier or a group says when it has ended."],
  [/^cp\.async|^LDGSTS|^LDGDEPBAR|^DEPBAR/, "Copies 4, 8 or 16 bytes a thread from global to shared memory, past the registers, while the warp goes on; a wait for its group comes before the data is read."],
  [/^mbarrier|^SYNCS/, "A barrier in shared memory that counts arrivals and bytes: asynchronous copies complete on it."],
  [/^bar\.|^barrier|^BAR/, "Every warp waits here until all have arrived: what they wrote to shared memory before is then seen by all."],
  [/^shfl|^SHFL/, "Lanes of a warp exchange registers, without memory: a reduction over 32 lanes takes five."],
  [/^(atom|red)\.|^ATOM|^RED/, "Reads, changes and writes memory as one step, in the L2 cache or shared memory: no other program comes between. Lanes with one address take turns."],
  [/^ld\.global|^LDG/, "Loads from global memory. `.v4` is four registers at once; what matters is how many 32-byte sectors the addresses of the warp touch. Hundreds of cycles, unless a cache has it."],
  [/^st\.global|^STG/, "Stores to global memory, in sectors of 32 bytes; the warp does not wait for it."],
  [/^ld\.shared|^LDS/, "Loads from shared memory: 32 banks of 4 bytes. Lanes that reach different words of one bank take another pass each. About 30 cycles."],
  [/^st\.shared|^STS/, "Stores to shared memory: 32 banks of 4 bytes. Lanes that reach different words of one bank take another pass each."],
  [/^ld\.param|^LDC|^ULDC/, "Reads a parameter of the kernel, from constant memory."],
  [/^fence|^MEMBAR|^FENCE/, "Orders accesses to memory, or makes what threads wrote visible to asynchronous copies and wgmma."],
  [/^fma|^FFMA|^HFMA2|^DFMA/, "Multiplies and adds with one rounding."],
  [/^(mad|mul|IMAD|FMUL|HMUL2)/, "Multiplies, of integers with an addition in the same instruction; IMAD is also how registers are moved."],
  [/^(ex2|lg2|sin|cos|tanh|rcp|rsqrt|sqrt|MUFU)/, "A special function, approximated by a unit that takes a quarter as many lanes a cycle as an addition."],
  [/^(div|rem)/, "A division: no single instruction but a sequence of them. By a constant, or a power of two, it becomes multiplications and shifts."],
  [/^(setp|ISETP|FSETP)/, "Compares, and sets a predicate: instructions that begin with `@%p` run only where it is true."],
  [/^(selp|SEL|FSEL)/, "Takes one of two values by a predicate: no branch."],
  [/^(cvt|F2F|I2F|F2I)/, "Converts between types."],
  [/^(bra|BRA|EXIT|ret)/, "Goes elsewhere, or ends. Lanes of a warp that disagree go one after the other."],
  [/^(mov|MOV|S2R|S2UR|CS2R)/, "Moves a register, or reads a special one (thread, CTA, clock)."],
  [/^(add|sub|and|or|xor|not|shl|shr|IADD|LOP3|SHF|LEA|FADD|HADD2|min|max|prmt|PRMT|bfe|bfi|lop3|shf)/, "Integer, bit or floating-point arithmetic of one cycle's issue; the result is there some four cycles later."],
];

/** By what a type or an encoding begins with. */
const KINDS: readonly (readonly [found: RegExp, name: string, text: string])[] = [
  [/#ttg\.blocked|#blocked/, "blocked", "An encoding: a thread holds `sizePerThread` neighbours, a warp `threadsPerWarp` threads, a CTA `warpsPerCTA` warps; `order` lists the axes, the fastest first. Larger tensors repeat it."],
  [/#ttg\.nvidia_mma|#mma/, "nvidia_mma", "An encoding: the fragment of the accumulator of an MMA, fixed by the instruction; `versionMajor = 3` is wgmma, `2` mma.sync."],
  [/#ttg\.dot_op/, "dot_op", "An encoding: an operand of a dot, in registers as the MMA of its parent takes it; `opIdx = 0` is A, `kWidth` the elements of K that a register holds in a row."],
  [/#ttg\.slice/, "slice", "An encoding: that of the parent with axis `dim` taken away, as a reduction over it leaves, and as `[:, None]` needs."],
  [/#ttg\.swizzled_shared/, "swizzled_shared", "A layout of shared memory: groups of `vec` elements of a row are permuted by xor with the row's number (modulo `maxPhase`, a new one every `perPhase` rows), so that columns go through all banks."],
  [/#ttg\.nvmma_shared/, "nvmma_shared", "A layout of shared memory as wgmma and tensor copies read it, swizzled over 32, 64 or 128 bytes."],
  [/#ttg\.(shared_memory|smem)|#smem/, "shared memory", "Where a buffer is."],
  [/#ttg\.linear/, "linear", "An encoding by its bases: which index each bit of register, lane and warp stands for."],
  [/!tt\.ptr/, "!tt.ptr", "A pointer, 64 bits; a tensor of them is an address for each element."],
  [/!ttg\.memdesc/, "!ttg.memdesc", "A buffer in shared (or tensor) memory, or a view of one: shape, element, layout; `mutable` where it may be written."],
  [/!ttg\.async\.token/, "!ttg.async.token", "What waits for asynchronous copies take."],
  [/!tt\.tensordesc/, "!tt.tensordesc", "A tensor descriptor: base, shape, strides and block, for copies by the tensor memory accelerator."],
  [/tt\.divisibility/, "tt.divisibility", "An attribute: what is known to divide the value (of a pointer: in bytes). It decides how wide accesses are."],
];

/** Where ops are specified, by dialect. */
const SPECIFIED: Readonly<Record<string, string>> = {
  tt: "https://triton-lang.org/main/dialects/TritonOps.html", ttg: "https://triton-lang.org/main/dialects/TritonGPUOps.html", ttng: "https://triton-lang.org/main/dialects/TritonNvidiaGPUOps.html",
  arith: "https://mlir.llvm.org/docs/Dialects/ArithOps/", math: "https://mlir.llvm.org/docs/Dialects/MathOps/", scf: "https://mlir.llvm.org/docs/Dialects/SCFDialect/", cf: "https://mlir.llvm.org/docs/Dialects/ControlFlowDialect/",
  llvm: "https://mlir.llvm.org/docs/Dialects/LLVM/", nvvm: "https://mlir.llvm.org/docs/Dialects/NVVMDialect/",
};

/** The name of the op that a line of TTIR or TTGIR has. */
const OP = /(?:^|= |\s)"?((?:tt|ttg|ttng|arith|math|scf|cf|llvm|nvvm)\.[a-z_0-9.]+)/;

/** The cards of a line: null where nothing on it is known. */
export function helpOn(text: string, level: string, compile: Compile): HTMLElement | null {
  const parts: HTMLElement[] = [];
  if (level === "ptx" || level === "sass") {
    const opcode = text.trim().replace(/^(\/\*.*?\*\/|\{|\s|[A-Z]*:)*/, "").replace(/^@!?%?[A-Z]*p?\w*\s+/, "").split(/[\s;]/)[0] ?? "";
    const found = INSTRUCTIONS.find(([start]) => start.test(opcode));
    if (found) parts.push(entry(opcode, found[1], level === "ptx" ? PTX : SASS));
  } else {
    const name = OP.exec(text)?.[1];
    const doc = name === undefined ? undefined : compile.docs?.[name];
    if (name !== undefined && doc !== undefined) parts.push(entry(name, doc, SPECIFIED[name.split(".")[0]!] ?? null));
    for (const [found, kind, says] of KINDS) if (found.test(text)) parts.push(entry(kind, says, null));
  }
  return parts.length ? make("section.card", { id: "help-card" }, make("h4", {}, "What it is"), ...parts) : null;
}

function entry(name: string, text: string, link: string | null): HTMLElement {
  return make("p", {}, make("code", {}, name), " ", ...withCode(text), ...(link ? [" ", make("a", { href: link, target: "_blank", rel: "noreferrer" }, "specification")] : []));
}
