#pragma once
/* The pools of constants and primitives of an executable: equal ones once, in the order of first
 * use. Used by the emitter. Threads: one at a time per layout. */
#include "compiler/ir/ir.h"
#include "vm/code/executable_builder.h"

typedef struct ConstantLayout ConstantLayout;

MUST_CHECK Error *constant_layout_create(ExecutableBuilder *builder, ConstantLayout **out);
void constant_layout_release(ConstantLayout *layout);
DEFINE_OWN(ConstantLayout, constant_layout_release);
/* Returns the index of a constant with that value in that slot. The value is borrowed. A tensor is
 * copied when its storage is larger, or serves another constant. */
MUST_CHECK Error *constant_layout_add(
    ConstantLayout *layout, const Value *value, uint8_t slot, uint32_t *out_index);
MUST_CHECK Error *constant_layout_add_text(
    ConstantLayout *layout, const char *text, uint32_t *out_index);
MUST_CHECK Error *constant_layout_add_primitive(ConstantLayout *layout, const OperatorInfo *info,
    const Attributes *attributes, uint32_t *out_index);
