#pragma once
/* A recurrent state of several sequences: for each layer and value a ring of its last rounds. The
 * kind of opaque object (relax_rnn_state.c) and the functions on it (relax_rnn_calls.c) share it.
 * On the execution's thread. */
#include "vm/relax/relax_opaque.h"

typedef struct RnnSequence {
    int64_t number;
    int64_t length;
    int64_t available; /* rounds that popn can take back */
    int64_t history;   /* the present entry in the ring of the history */
    bool used;
} RnnSequence;

typedef struct RnnValue {
    DType dtype;
    uint8_t slot; /* of the initial value, and of debug_get */
    Shape shape;
    uint64_t bytes;
    uint8_t *initial;
    uint8_t *data; /* [layers, sequences, history] of the value */
} RnnValue;

/* The round is data of begin_forward: places of its sequences, and how many positions each gets. */
typedef struct RnnState {
    int64_t layers, places, history;
    uint32_t value_count;
    uint32_t round_count;
    RnnValue *values;
    RnnSequence *sequences; /* by place */
    uint32_t *round_places;
    int64_t *round_lengths;
    bool stale; /* sequences have changed since begin_forward */
} RnnState;

/* A state without values. Errors: INVALID a size out of its bounds. */
MUST_CHECK Error *rnn_create(
    int64_t layers, int64_t places, int64_t history, uint32_t value_count, RnnState **out);
void rnn_destroy(void *state);
typedef RnnState OwnedRnn;
DEFINE_OWN(OwnedRnn, rnn_destroy);
/* Gives a value its memory. Errors: INVALID, also beyond what is addressable. */
MUST_CHECK Error *rnn_set_value(RnnState *rnn, uint32_t index, DType dtype, const Shape *shape);
/* The bytes of one entry of the history. */
static inline uint8_t *rnn_entry(
    const RnnState *rnn, const RnnValue *value, int64_t layer, uint32_t place, int64_t history) {
    int64_t index = (layer * rnn->places + place) * rnn->history + history;
    return value->data + (uint64_t)index * value->bytes;
}
