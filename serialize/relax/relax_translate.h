#pragma once
/* Relax files as executables. Callers: tools/client and tests. Threads: any; one at a time per
 * file.
 *
 * One Relax instruction becomes one instruction wherever there is one, so an execution stops at the
 * same places in both:
 *
 *   call of a bytecode function      Invoke
 *   native function NAME             bytecode that calls the packed function __vmtir__NAME
 *   call of a packed function        Call
 *   call vm.builtin.invoke_closure   InvokeClosure, when the closure is in a register
 *   call vm.builtin.make_closure     AllocClosure, of a bytecode function of the file
 *   f[function] as an argument       AllocClosure in front of the call
 *   ret, goto, if                    Ret, Goto, If.scalar
 *
 * docs/relax.md says what the values of Relax become. */
#include "serialize/relax/relax_file.h"
#include "vm/code/executable.h"

/* A library (.so) that a file was found in, with its compiled functions. */
typedef struct RelaxLibrary {
    const uint8_t *bytes;
    size_t size;
    size_t file_begin, file_size; /* where the Relax executable is in the bytes */
} RelaxLibrary;

/* Translates a file. The tensors' bytes are copied once.
 *
 * library: becomes the executable's native library (docs/native.md), with zeros in place of the
 * Relax executable, which would be there twice. Only native functions need it there. NULL: none.
 *
 * Errors: UNSUPPORTED something that no executable can hold, each with its place; whatever the
 * verifier finds. */
MUST_CHECK Error *relax_translate(
    const RelaxFile *file, const RelaxLibrary *library, Executable **out);
/* Writes the bytes that a translated executable was made from.
 *
 * Errors: CONFLICT the executable was not made from a Relax file; CORRUPT. */
MUST_CHECK Error *relax_translate_back(const Executable *executable, ByteWriter *writer);
/* Parses the file without its tensors' data that is kept with the executable, for printing. The
 * result points into the executable. Errors: as relax_translate_back. */
MUST_CHECK Error *relax_translate_outline(const Executable *executable, RelaxFile **out);
