#pragma once
/* Images and their two forms, [N, C, H, W] and [N, H, W, C], for the files of the pass
 * channels_last.
 * Threads: one at a time per module. */
#include "compiler/ir/ir_build.h"
#include "compiler/passes/pass.h"

typedef struct ImageForms {
    bool expected;    /* the image will be made as [N, H, W, C] */
    IrVariable *last; /* the [N, H, W, C] form, once it exists */
} ImageForms;

typedef struct ChannelsLast {
    IrModule *module;
    ImageForms *forms; /* by variable id, for variables older than the pass */
    uint32_t capacity;
} ChannelsLast;

/* Returns whether a variable is a computed tensor of float32 and rank 4. */
bool channels_last_is_image(const IrVariable *variable);
/* Converts the type [N, C, H, W] to [N, H, W, C]. */
IrType channels_last_type(const IrType *first);
/* Returns whether the image will be made as [N, H, W, C]. */
bool channels_last_expects(const ChannelsLast *pass, const IrVariable *variable);
/* Returns an image as [N, H, W, C]; NULL before that form exists. */
IrVariable *channels_last_find(const ChannelsLast *pass, const IrVariable *variable);
/* Returns an image as [N, H, W, C], transposed at its maker if necessary; a copy of a constant. */
MUST_CHECK Error *channels_last_get(ChannelsLast *pass, IrVariable *variable, IrVariable **out);
/* Sets the variable that replaces the binding's result. */
void channels_last_set(ChannelsLast *pass, IrBinding *binding, IrVariable *last);

/* channels_last_operators.c: whether the operator should work on [N, H, W, C], and its conversion.
 */
bool channels_last_takes(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert(ChannelsLast *pass, IrBinding *binding);
/* channels_last_shuffle.c: whether the binding is the last of three operators that shuffle the
 * channels of an image, and their conversion. */
bool channels_last_takes_shuffle(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert_shuffle(ChannelsLast *pass, IrBinding *binding);
