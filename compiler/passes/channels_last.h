#pragma once
/* Inside the pass channels_last: images and their two forms, [N, C, H, W] and [N, H, W, C]. */
#include "compiler/ir/ir_build.h"
#include "compiler/passes/pass.h"

typedef struct ImageForms {
    bool expected;    /* it is made as [N, H, W, C] */
    IrVariable *last; /* that form, once it is there */
} ImageForms;

typedef struct ChannelsLast {
    IrModule *module;
    ImageForms *forms; /* by variable id, of the variables that were there before the pass */
    uint32_t capacity;
} ChannelsLast;

/* A computed tensor of float32 and rank 4. */
bool channels_last_is_image(const IrVariable *variable);
/* [N, C, H, W] to [N, H, W, C]. */
IrType channels_last_type(const IrType *first);
/* Whether it will be made as [N, H, W, C]. */
bool channels_last_expects(const ChannelsLast *pass, const IrVariable *variable);
/* An image as [N, H, W, C]; NULL where it is not there yet. */
IrVariable *channels_last_find(const ChannelsLast *pass, const IrVariable *variable);
/* The same, transposed where it is made if need be; of a constant a copy. */
MUST_CHECK Error *channels_last_get(ChannelsLast *pass, IrVariable *variable, IrVariable **out);
/* What stands for the binding's result from now on. */
void channels_last_set(ChannelsLast *pass, IrBinding *binding, IrVariable *last);

/* channels_last_operators.c: whether the operator is to work on [N, H, W, C], and that it does. */
bool channels_last_takes(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert(ChannelsLast *pass, IrBinding *binding);
/* channels_last_shuffle.c: the last of three operators that shuffle the channels of an image. */
bool channels_last_takes_shuffle(const ChannelsLast *pass, const IrBinding *binding);
MUST_CHECK Error *channels_last_convert_shuffle(ChannelsLast *pass, IrBinding *binding);
