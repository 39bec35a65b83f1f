#pragma once
/* Outputs of a job on their way from its slice to the store: a list that is moved as a whole. The
 * worker's thread fills a list during a slice; the control thread owns it behind the slice. */
#include <stdbool.h>

#include "serialize/arrays/array_list.h"

/* An output or yield that is not stored yet. */
typedef struct ControlOutput {
    int64_t sequence, items_done;
    ArrayList arrays;
    struct ControlOutput *next;
} ControlOutput;

typedef struct ControlOutputs {
    ControlOutput *first, *last;
    size_t count;
    uint64_t bytes;
} ControlOutputs;

/* Limits on uncommitted outputs. A job that is above one is paused until outputs are committed. */
enum { CONTROL_OUTPUTS_MAX = 8192, CONTROL_OUTPUT_BYTES_MAX = 64 << 20 };

bool control_outputs_are_many(size_t count, uint64_t bytes);
/* Appends one output. On failure the arrays stay the caller's, and nothing is appended. */
MUST_CHECK Error *control_outputs_add(
    ControlOutputs *outputs, int64_t sequence, ArrayList *inout_arrays, int64_t items_done);
/* Moves all of `from` behind `to`. */
void control_outputs_append(ControlOutputs *to, ControlOutputs *from);
/* Frees all outputs but the last one. */
void control_outputs_keep_last(ControlOutputs *outputs);
void control_outputs_deinit(ControlOutputs *outputs);
