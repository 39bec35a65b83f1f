#pragma once
/* Prints a module as text for people and golden tests. Callers: compile.c (dumps) and files that
 * name types in messages. Deterministic: variables are numbered in order of appearance. ir_parse.h
 * reads the text. Pure: no state, any thread. */
#include "base/text.h"
#include "compiler/ir/ir.h"

MUST_CHECK Error *ir_print_module(const IrModule *module, TextBuilder *out);
void ir_print_type(const IrModule *module, const IrType *type, TextBuilder *out);
/* The kind's name, such as "if" or "float"; a static text. */
const char *ir_kind_name(IrKind kind);
const char *ir_type_kind_name(IrTypeKind kind);
