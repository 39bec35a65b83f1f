#pragma once
/* What the compiler's tests share: golden files, modules from text, runs of them. */
#include "compiler/ir/ir.h"
#include "tests/support/test_support.h"
#include "vm/code/executable.h"
#include "vm/objects/value.h"

/* Every tests/golden/passes/PREFIX*.ir: a first line "; run: pass pass …", a module, a line "====",
 * and the module that comes out. "emit" as the last pass gives assembly. With
 * LAYOVER_GOLDEN_WRITE=1 in the environment what comes out is written instead of compared. */
void golden_check(const char *prefix);
IrModule *module_parse(const char *text);
void module_run_pass(IrModule *module, const char *pass);
/* Through all passes. */
Executable *module_compile(IrModule *module);
/* Only what is needed to get any module to an executable: no pass that makes it better. */
Executable *module_compile_plainly(IrModule *module);
/* Runs function main to its end on a device ("cpu", "sim:0"). Arguments are borrowed; the result is
 * brought to the host and owned by the caller. */
MUST_CHECK Error *executable_run(Executable *executable, const char *device, const Value *arguments,
    uint32_t argument_count, Value *out_result);
/* A float32 tensor of pseudo-random elements in -2 … 2. */
Value value_random(uint64_t *state, uint32_t rank, const int64_t *dims);
Value value_int64(int64_t element);
/* Fails the test unless the bits are the same. */
void values_compare(const Value *expected, const Value *got, const char *what, uint64_t seed);
