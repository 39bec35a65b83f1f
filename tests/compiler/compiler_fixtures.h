#pragma once
/* What the compiler's tests share: golden files, modules from text, runs of them. */
#include "compiler/ir/ir.h"
#include "tests/support/test_support.h"
#include "vm/executable.h"

/* Every tests/golden/passes/PREFIX*.ir: a first line "; run: pass pass …", a module, a line "====",
 * and the module that comes out. "emit" as the last pass gives assembly. With
 * LAYOVER_GOLDEN_WRITE=1 in the environment what comes out is written instead of compared. */
void golden_check(const char *prefix);
IrModule *module_parse(const char *text);
void module_run_pass(IrModule *module, const char *pass);
/* Through all passes. */
Executable *module_compile(IrModule *module);
