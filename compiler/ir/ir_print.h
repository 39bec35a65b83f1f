#pragma once
/* A module as text for people and golden tests. Deterministic: variables are numbered by order of
 * appearance. ir_parse.h reads it again. */
#include "base/text.h"
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_print_module(const IrModule *module, TextBuilder *out);
void ir_print_type(const IrModule *module, const IrType *type, TextBuilder *out);
/* "if", "float"; static. */
const char *ir_kind_name(IrKind kind);
const char *ir_type_kind_name(IrTypeKind kind);
