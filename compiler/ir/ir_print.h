#pragma once
/* A module as text for people and golden tests. Deterministic: names and numbers by order of
 * appearance. */
#include "base/text.h"
#include "compiler/ir/ir.h"

void ir_print_module(const IrModule *module, TextBuilder *out);
void ir_print_type(const IrModule *module, const IrType *type, TextBuilder *out);
