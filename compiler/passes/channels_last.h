#pragma once
/* Images and their two forms, [N, C, H, W] and [N, H, W, C], for the files of the pass
 * channels_last. Volumes [N, C, D, H, W] are images with one dimension more.
 * Threads: one at a time per module. */
#include "compiler/ir/ir_build.h"
#include "compiler/passes/pass.h"

typedef struct ImageForms {
    bool expected;    /* the image will be made as [N, H, W, C] */
    bool wanted;      /* an operator that can read [N, H, W, C] reads it */
    IrVariable *last; /* the [N, H, W, C] form, once it exists */
} ImageForms;

typedef struct ChannelsLast {
    IrModule *module;
    ImageForms *forms; /* by variable id, for variables older than the pass */
    uint32_t capacity;
} ChannelsLast;

/* Returns the order of a Transpose of [N, C, H, W] to [N, H, W, C], for rank 4 or 5. */
const int64_t *channels_last_order(uint32_t rank);
/* Returns whether the binding is a Transpose of [N, H, W, C] to [N, C, H, W], of rank 4 or 5. */
bool channels_last_makes_first(const IrBinding *transpose);
/* Returns whether a variable is a computed tensor of float32 or bytes and of rank 4 or 5. */
bool channels_last_is_image(const IrVariable *variable);
/* Converts the type [N, C, H, W] to [N, H, W, C]. */
IrType channels_last_type(const IrType *first);
/* Returns whether the image will be made as [N, H, W, C]. */
bool channels_last_expects(const ChannelsLast *pass, const IrVariable *variable);
/* Returns whether an operator that can read the image as [N, H, W, C] reads it. */
bool channels_last_wants(const ChannelsLast *pass, const IrVariable *variable);
/* Returns an image as [N, H, W, C]; NULL before that form exists. */
IrVariable *channels_last_find(const ChannelsLast *pass, const IrVariable *variable);
/* Returns an image as [N, H, W, C], transposed at its maker if necessary; a copy of a constant. */
MUST_CHECK Error *channels_last_get(ChannelsLast *pass, IrVariable *variable, IrVariable **out);
/* Sets the variable that replaces the binding's result of that index. */
void channels_last_set(ChannelsLast *pass, IrBinding *binding, uint32_t index, IrVariable *last);

/* channels_last_operators.c: whether the operator should work on [N, H, W, C], and its conversion.
 */
bool channels_last_takes(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert(ChannelsLast *pass, IrBinding *binding);
/* Returns whether the operator can work on [N, H, W, C], depending on its operands. */
bool channels_last_may_take(const IrBinding *binding);
/* channels_last_resize.c: the same two questions for Resize and for a ReduceMean that keeps its
 * dimensions. A ReduceMean that does not is replaced by one that reads [N, H, W, C]. */
bool channels_last_takes_resize(const ChannelsLast *pass, const IrBinding *resize);
MUST_CHECK Error *channels_last_convert_resize(ChannelsLast *pass, IrBinding *resize);
bool channels_last_takes_mean(const ChannelsLast *pass, const IrBinding *mean);
MUST_CHECK Error *channels_last_read_mean(ChannelsLast *pass, IrBinding *binding, bool *out_read);
/* channels_last_parts.c: the same for a Slice along constant axes, and for Split. */
bool channels_last_takes_slice(const ChannelsLast *pass, const IrBinding *slice);
MUST_CHECK Error *channels_last_convert_slice(ChannelsLast *pass, IrBinding *slice);
bool channels_last_takes_split(const ChannelsLast *pass, const IrBinding *split);
MUST_CHECK Error *channels_last_convert_split(ChannelsLast *pass, IrBinding *split);
/* channels_last_tokens.c: whether the binding makes an image of [N, H, W, C] or of rows [N, H × W,
 * C], and its conversion. A Transpose that makes such rows of an image is replaced by a Reshape. */
bool channels_last_takes_tokens(const IrBinding *binding);
MUST_CHECK Error *channels_last_convert_tokens(ChannelsLast *pass, IrBinding *binding);
MUST_CHECK Error *channels_last_read_tokens(ChannelsLast *pass, IrBinding *binding, bool *out_read);
/* channels_last_parts.c: whether the binding is the last of three operators that shuffle the
 * channels of an image, and their conversion. */
bool channels_last_takes_shuffle(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert_shuffle(ChannelsLast *pass, IrBinding *binding);
