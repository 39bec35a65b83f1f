#include <inttypes.h>
#include <string.h>

#include "vm/relax/relax_registry.h"
#include "vm/relax/relax_rnn.h"

static Error *find(const RnnState *rnn, int64_t number, uint32_t *out_place) {
    for (uint32_t i = 0; i < rnn->places; i++) {
        if (!rnn->sequences[i].used || rnn->sequences[i].number != number) continue;
        *out_place = i;
        return NULL;
    }
    FAIL(NOT_FOUND, "there is no sequence %" PRIi64, number);
}

static void rnn_clear(void *state) {
    RnnState *rnn = state;
    memset(rnn->sequences, 0, (size_t)rnn->places * sizeof *rnn->sequences);
    rnn->round_count = 0;
    rnn->stale = false;
}

/* A free place for a new sequence of that number. */
static Error *take_place(RnnState *rnn, int64_t number, uint32_t *out_place) {
    uint32_t place = UINT32_MAX;
    for (uint32_t i = 0; i < rnn->places; i++) {
        if (rnn->sequences[i].used && rnn->sequences[i].number == number)
            FAIL(CONFLICT, "there is a sequence %" PRIi64 " already", number);
        if (!rnn->sequences[i].used && place == UINT32_MAX) place = i;
    }
    if (place == UINT32_MAX)
        FAIL(EXHAUSTED, "sequence %" PRIi64 ": all %" PRIi64 " places are taken", number,
            rnn->places);
    *out_place = place;
    return NULL;
}

static Error *rnn_add(void *state, int64_t number) {
    RnnState *rnn = state;
    uint32_t place;
    TRY(take_place(rnn, number, &place));
    rnn->sequences[place] = (RnnSequence){.number = number, .used = true};
    for (uint32_t i = 0; i < rnn->value_count; i++) {
        const RnnValue *value = &rnn->values[i];
        for (int64_t layer = 0; layer < rnn->layers; layer++) {
            uint8_t *to = rnn_entry(rnn, value, layer, place, 0);
            memset(to, 0, (uint64_t)rnn->history * value->bytes);
            memcpy(to, value->initial, value->bytes);
        }
    }
    rnn->stale = true;
    return NULL;
}

static Error *rnn_remove(void *state, int64_t number) {
    RnnState *rnn = state;
    uint32_t place;
    TRY(find(rnn, number, &place));
    rnn->sequences[place].used = false;
    rnn->stale = true;
    return NULL;
}

/* The state is that of the whole parent, whatever the position: earlier ones are gone. */
static Error *rnn_fork(
    PackedCall *call, void *state, int64_t parent, int64_t child, int64_t position) {
    (void)call;
    RnnState *rnn = state;
    uint32_t from, to;
    (void)position;
    TRY(find(rnn, parent, &from));
    TRY(take_place(rnn, child, &to));
    rnn->sequences[to] = rnn->sequences[from];
    rnn->sequences[to].number = child;
    for (uint32_t i = 0; i < rnn->value_count; i++) {
        const RnnValue *value = &rnn->values[i];
        for (int64_t layer = 0; layer < rnn->layers; layer++)
            memcpy(rnn_entry(rnn, value, layer, to, 0), rnn_entry(rnn, value, layer, from, 0),
                (uint64_t)rnn->history * value->bytes);
    }
    rnn->stale = true;
    return NULL;
}

static Error *rnn_pop(PackedCall *call, void *state, int64_t number, int64_t count) {
    (void)call;
    RnnState *rnn = state;
    uint32_t place;
    TRY(find(rnn, number, &place));
    RnnSequence *sequence = &rnn->sequences[place];
    if (count < 0 || count > sequence->available)
        FAIL(INVALID, "sequence %" PRIi64 " can take back %" PRIi64 " rounds, not %" PRIi64, number,
            sequence->available, count);
    sequence->length -= count;
    sequence->available -= count;
    sequence->history = (sequence->history - count + rnn->history) % rnn->history;
    rnn->stale = true;
    return NULL;
}

/* Only chains have one state: the parent of each position is the one before. */
static Error *check_chains(
    const int64_t *lengths, uint32_t count, const int64_t *parents, uint32_t parent_count) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (int64_t position = 0; position < lengths[i]; position++, at++) {
            if (at >= parent_count)
                FAIL(INVALID, "%u parents, which are fewer than positions", parent_count);
            if (parents[at] != position - 1)
                FAIL(INVALID,
                    "the parent of position %" PRIi64 " is %" PRIi64
                    "; a recurrent state takes chains only",
                    position, parents[at]);
        }
    }
    return NULL;
}

static Error *rnn_begin(void *state, const int64_t *seqs, const int64_t *lengths, uint32_t count,
    const int64_t *parents, uint32_t parent_count) {
    RnnState *rnn = state;
    uint32_t place;
    if (parents) TRY(check_chains(lengths, count, parents, parent_count));
    for (uint32_t i = 0; i < count; i++) TRY(find(rnn, seqs[i], &place));
    for (uint32_t i = 0; i < count; i++) {
        TRY(find(rnn, seqs[i], &rnn->round_places[i]));
        rnn->round_lengths[i] = lengths[i];
    }
    rnn->round_count = count;
    rnn->stale = false;
    return NULL;
}

static Error *rnn_end(void *state) {
    RnnState *rnn = state;
    for (uint32_t i = 0; i < rnn->round_count; i++)
        if (!rnn->sequences[rnn->round_places[i]].used)
            FAIL(NOT_FOUND, "sequence %u of the round was removed", i);
    for (uint32_t i = 0; i < rnn->round_count; i++) {
        RnnSequence *sequence = &rnn->sequences[rnn->round_places[i]];
        int64_t length = rnn->round_lengths[i], most = rnn->history - 1;
        sequence->length += length;
        if (length > 1)
            sequence->available = 0; /* a round of several positions cannot be taken back */
        else if (sequence->available < most)
            sequence->available++;
        sequence->history = (sequence->history + 1) % rnn->history;
    }
    rnn->stale = true;
    return NULL;
}

const RelaxSequences relax_rnn_sequences = {
    .kind = &relax_rnn_state,
    .clear = rnn_clear,
    .add = rnn_add,
    .remove = rnn_remove,
    .fork = rnn_fork,
    .pop = rnn_pop,
    .begin = rnn_begin,
    .end = rnn_end,
};

RELAX(rnn_state_create) {
    RELAX_UNUSED();
    uint32_t getters, setters, values;
    (void)value_children(&arguments[3], &getters);
    (void)value_children(&arguments[4], &setters);
    const Value *initial = value_children(&arguments[5], &values);
    OWN(OwnedRnn, rnn) = NULL;
    TRY(rnn_create(relax_int(&arguments[0]), relax_int(&arguments[1]), relax_int(&arguments[2]),
        values, &rnn));
    if (getters != values || setters != values)
        FAIL(INVALID, "%u getters and %u setters for %u values", getters, setters, values);
    for (uint32_t i = 0; i < values; i++) {
        if (!value_is(&initial[i], OBJECT_TENSOR))
            FAIL(
                INVALID, "initial value %u is a %s, not a tensor", i, value_kind_name(&initial[i]));
        const Tensor *tensor = initial[i].tensor;
        const void *bytes;
        OWN_MEMORY(owned) = NULL;
        TRY(relax_host_bytes(call, "an initial value", tensor, &bytes, &owned));
        TRY(rnn_set_value(rnn, i, tensor->dtype, &tensor->shape));
        rnn->values[i].slot = tensor->storage->slot;
        if (rnn->values[i].bytes > 0) memcpy(rnn->values[i].initial, bytes, rnn->values[i].bytes);
    }
    Opaque *opaque;
    TRY(opaque_create(call->meter, &relax_rnn_state, TAKE(rnn), &opaque));
    *out_result = value_object(OBJECT_OPAQUE, opaque);
    return NULL;
}

typedef struct RnnCall {
    RnnState *rnn;
    const RnnValue *value;
    int64_t layer;
} RnnCall;

/* Arguments: state, layer, value, ... */
static Error *open_call(const Value *arguments, RnnCall *out) {
    void *state;
    uint64_t layer, value;
    TRY(relax_opaque_state(&arguments[0], &relax_rnn_state, &state));
    out->rnn = state;
    TRY(relax_index(&arguments[1], "layer", (uint64_t)out->rnn->layers, &layer));
    TRY(relax_index(&arguments[2], "value", out->rnn->value_count, &value));
    out->layer = (int64_t)layer;
    out->value = &out->rnn->values[value];
    return NULL;
}

/* Checks that a tensor holds the value of each sequence of the round. */
static Error *check_round(const RnnCall *of, const Tensor *tensor) {
    const RnnState *rnn = of->rnn;
    if (rnn->stale || rnn->round_count == 0)
        FAIL(CONFLICT, "no round has begun since the sequences changed");
    TRY(relax_expect_dtype("the tensor", tensor, of->value->dtype));
    if (tensor->shape.rank == 0 || tensor->shape.dims[0] != rnn->round_count ||
        tensor_bytes(tensor) != rnn->round_count * of->value->bytes)
        FAIL(INVALID, "the tensor has no values of %" PRIu64 " bytes for %u sequences",
            of->value->bytes, rnn->round_count);
    return NULL;
}

RELAX(rnn_state_get) {
    RELAX_UNUSED();
    RnnCall of;
    OWN_TENSOR_BYTES(result) = {0};
    TRY(open_call(arguments, &of));
    TRY(check_round(&of, arguments[3].tensor));
    TRY(relax_open_written(call, "the tensor", arguments[3].tensor, false, &result));
    for (uint32_t i = 0; i < of.rnn->round_count; i++) {
        uint32_t place = of.rnn->round_places[i];
        memcpy((uint8_t *)result.bytes + i * of.value->bytes,
            rnn_entry(of.rnn, of.value, of.layer, place, of.rnn->sequences[place].history),
            of.value->bytes);
    }
    return relax_store(call, &result);
}

/* Written to the next entry of the history, which end_forward makes the present one. */
RELAX(rnn_state_set) {
    RELAX_UNUSED();
    RnnCall of;
    const void *bytes;
    OWN_MEMORY(owned) = NULL;
    TRY(open_call(arguments, &of));
    TRY(check_round(&of, arguments[3].tensor));
    TRY(relax_host_bytes(call, "the tensor", arguments[3].tensor, &bytes, &owned));
    for (uint32_t i = 0; i < of.rnn->round_count; i++) {
        uint32_t place = of.rnn->round_places[i];
        int64_t next = (of.rnn->sequences[place].history + 1) % of.rnn->history;
        memcpy(rnn_entry(of.rnn, of.value, of.layer, place, next),
            (const uint8_t *)bytes + i * of.value->bytes, of.value->bytes);
    }
    *out_result = value_copy(arguments[0]);
    return NULL;
}

RELAX(rnn_state_debug_get) {
    RELAX_UNUSED();
    RnnCall of;
    uint32_t place;
    TRY(open_call(arguments, &of));
    TRY(find(of.rnn, relax_int(&arguments[3]), &place));
    Tensor *tensor;
    TRY(relax_new_tensor(call, of.value->slot, of.value->dtype, &of.value->shape, &tensor));
    if (!tensor) return NULL;
    *out_result = value_object(OBJECT_TENSOR, tensor);
    if (tensor_bytes(tensor) == 0) return NULL;
    return tensor_copy_from_host(
        tensor, rnn_entry(of.rnn, of.value, of.layer, place, of.rnn->sequences[place].history));
}
