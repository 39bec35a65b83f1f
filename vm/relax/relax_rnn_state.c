#include <inttypes.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "vm/relax/relax_rnn.h"

enum { LAYERS_MAX = 4096, SEQUENCES_MAX = 1 << 16, HISTORY_MAX = 1 << 16, VALUES_MAX = 256 };

void rnn_destroy(void *state) {
    RnnState *rnn = state;
    for (uint32_t i = 0; rnn->values && i < rnn->value_count; i++) {
        memory_free(rnn->values[i].initial);
        memory_free(rnn->values[i].data);
    }
    memory_free(rnn->values);
    memory_free(rnn->sequences);
    memory_free(rnn->round_places);
    memory_free(rnn->round_lengths);
    memory_free(rnn);
}

static uint64_t rnn_bytes(const void *state) {
    const RnnState *rnn = state;
    uint64_t bytes = sizeof(RnnState) + (uint64_t)rnn->places * 2 * sizeof(RnnSequence);
    for (uint32_t i = 0; i < rnn->value_count; i++)
        bytes += sizeof(RnnValue) +
                 rnn->values[i].bytes * (1 + (uint64_t)(rnn->layers * rnn->places * rnn->history));
    return bytes;
}

/* Checks sizes that come from a call or a checkpoint. */
static Error *check_sizes(int64_t layers, int64_t places, int64_t history, uint64_t values) {
    if (layers < 1 || layers > LAYERS_MAX)
        FAIL(INVALID, "%" PRIi64 " layers; there may be 1 to %d", layers, LAYERS_MAX);
    if (places < 1 || places > SEQUENCES_MAX)
        FAIL(INVALID, "%" PRIi64 " sequences; there may be 1 to %d", places, SEQUENCES_MAX);
    if (history < 1 || history > HISTORY_MAX)
        FAIL(INVALID, "a history of %" PRIi64 "; it may be 1 to %d", history, HISTORY_MAX);
    if (values < 1 || values > VALUES_MAX)
        FAIL(INVALID, "%" PRIu64 " values a layer; there may be 1 to %d", values, VALUES_MAX);
    return NULL;
}

Error *rnn_create(
    int64_t layers, int64_t places, int64_t history, uint32_t value_count, RnnState **out) {
    TRY(check_sizes(layers, places, history, value_count));
    void *memory;
    TRY(memory_alloc(1, sizeof(RnnState), &memory));
    OWN(OwnedRnn, rnn) = memory;
    rnn->layers = layers;
    rnn->places = places;
    rnn->history = history;
    rnn->value_count = value_count;
    TRY(memory_alloc(value_count, sizeof(RnnValue), &memory));
    rnn->values = memory;
    TRY(memory_alloc((size_t)places, sizeof(RnnSequence), &memory));
    rnn->sequences = memory;
    TRY(memory_alloc((size_t)places, sizeof(uint32_t), &memory));
    rnn->round_places = memory;
    TRY(memory_alloc((size_t)places, sizeof(int64_t), &memory));
    rnn->round_lengths = memory;
    *out = TAKE(rnn);
    return NULL;
}

Error *rnn_set_value(RnnState *rnn, uint32_t index, DType dtype, const Shape *shape) {
    RnnValue *value = &rnn->values[index];
    uint64_t all;
    if (dtype == DTYPE_STRING || dtype_bits(dtype) < 8)
        FAIL(INVALID, "value %u is of %s", index, dtype_name(dtype));
    TRY_WRAP(shape_bytes(shape, dtype, &value->bytes), "value %u", index);
    uint64_t count = (uint64_t)(rnn->layers * rnn->places * rnn->history);
    if (!checked_mul_u64(count, value->bytes, &all) || all > INT64_MAX)
        FAIL(INVALID, "value %u takes more bytes than can be counted", index);
    value->dtype = dtype;
    value->shape = *shape;
    void *memory;
    TRY(memory_alloc(1, value->bytes + 1, &memory));
    value->initial = memory;
    TRY(memory_alloc(1, all + 1, &memory));
    value->data = memory;
    return NULL;
}

static Error *rnn_copy(const void *state, void **out) {
    const RnnState *from = state;
    OWN(OwnedRnn, rnn) = NULL;
    TRY(rnn_create(from->layers, from->places, from->history, from->value_count, &rnn));
    for (uint32_t i = 0; i < from->value_count; i++) {
        const RnnValue *value = &from->values[i];
        TRY(rnn_set_value(rnn, i, value->dtype, &value->shape));
        rnn->values[i].slot = value->slot;
        memcpy(rnn->values[i].initial, value->initial, value->bytes);
        memcpy(rnn->values[i].data, value->data,
            (uint64_t)(from->layers * from->places * from->history) * value->bytes);
    }
    memcpy(rnn->sequences, from->sequences, (size_t)from->places * sizeof *from->sequences);
    memcpy(rnn->round_places, from->round_places, from->round_count * sizeof(uint32_t));
    memcpy(rnn->round_lengths, from->round_lengths, from->round_count * sizeof(int64_t));
    rnn->round_count = from->round_count;
    rnn->stale = from->stale;
    *out = TAKE(rnn);
    return NULL;
}

/* Data of places without a sequence is not saved: nothing reads it before it is written. */
static void save_value(const RnnState *rnn, const RnnValue *value, ByteWriter *writer) {
    byte_write_u8(writer, (uint8_t)value->dtype);
    byte_write_u8(writer, value->slot);
    byte_write_u32(writer, value->shape.rank);
    for (uint32_t i = 0; i < value->shape.rank; i++) byte_write_i64(writer, value->shape.dims[i]);
    byte_write_bytes(writer, value->initial, value->bytes);
    for (int64_t layer = 0; layer < rnn->layers; layer++)
        for (uint32_t place = 0; place < rnn->places; place++)
            if (rnn->sequences[place].used)
                byte_write_bytes(writer, rnn_entry(rnn, value, layer, place, 0),
                    (uint64_t)rnn->history * value->bytes);
}

static Error *rnn_save(const void *state, ByteWriter *writer) {
    const RnnState *rnn = state;
    byte_write_i64(writer, rnn->layers);
    byte_write_i64(writer, rnn->places);
    byte_write_i64(writer, rnn->history);
    byte_write_u32(writer, rnn->value_count);
    for (uint32_t i = 0; i < rnn->places; i++) {
        const RnnSequence *sequence = &rnn->sequences[i];
        byte_write_u8(writer, sequence->used);
        if (!sequence->used) continue;
        byte_write_i64(writer, sequence->number);
        byte_write_i64(writer, sequence->length);
        byte_write_i64(writer, sequence->available);
        byte_write_i64(writer, sequence->history);
    }
    byte_write_u8(writer, rnn->stale);
    byte_write_u32(writer, rnn->round_count);
    for (uint32_t i = 0; i < rnn->round_count; i++) {
        byte_write_u32(writer, rnn->round_places[i]);
        byte_write_i64(writer, rnn->round_lengths[i]);
    }
    for (uint32_t i = 0; i < rnn->value_count; i++) save_value(rnn, &rnn->values[i], writer);
    return byte_writer_check(writer);
}

static Error *load_sequences(ByteReader *reader, RnnState *rnn) {
    for (uint32_t i = 0; i < rnn->places; i++) {
        RnnSequence *sequence = &rnn->sequences[i];
        uint8_t used;
        TRY(byte_read_u8(reader, &used));
        if (!used) continue;
        sequence->used = true;
        TRY(byte_read_i64(reader, &sequence->number));
        TRY(byte_read_i64(reader, &sequence->length));
        TRY(byte_read_i64(reader, &sequence->available));
        TRY(byte_read_i64(reader, &sequence->history));
        if (sequence->available < 0 || sequence->available >= rnn->history ||
            sequence->history < 0 || sequence->history >= rnn->history)
            FAIL(CORRUPT, "a sequence at %" PRIi64 " of a history of %" PRIi64, sequence->history,
                rnn->history);
    }
    uint8_t stale;
    TRY(byte_read_u8(reader, &stale));
    rnn->stale = stale != 0;
    TRY(byte_read_u32(reader, &rnn->round_count));
    if (rnn->round_count > rnn->places) FAIL(CORRUPT, "a round of %u sequences", rnn->round_count);
    for (uint32_t i = 0; i < rnn->round_count; i++) {
        TRY(byte_read_u32(reader, &rnn->round_places[i]));
        TRY(byte_read_i64(reader, &rnn->round_lengths[i]));
        if (rnn->round_places[i] >= rnn->places || rnn->round_lengths[i] < 0)
            FAIL(CORRUPT, "place %u of a round", rnn->round_places[i]);
    }
    return NULL;
}

/* Memory is made only for a value whose bytes are there. */
static Error *check_left(ByteReader *reader, const RnnState *rnn, DType dtype, const Shape *shape) {
    uint64_t bytes, entries = (uint64_t)rnn->layers, needed, used = 0;
    for (uint32_t place = 0; place < rnn->places; place++) used += rnn->sequences[place].used;
    TRY(error_recode(shape_bytes(shape, dtype, &bytes), ERROR_CORRUPT));
    if (!checked_mul_u64(entries, (uint64_t)rnn->history, &entries) ||
        !checked_mul_u64(entries, used, &entries) || !checked_add_u64(entries, 1, &entries) ||
        !checked_mul_u64(entries, bytes, &needed) || needed > byte_reader_left(reader))
        FAIL(CORRUPT, "a value of %" PRIu64 " bytes; the state ends early", bytes);
    return NULL;
}

static Error *load_value(ByteReader *reader, RnnState *rnn, uint32_t index) {
    uint8_t dtype, slot;
    Shape shape = {0};
    TRY(byte_read_u8(reader, &dtype));
    TRY(byte_read_u8(reader, &slot));
    TRY(byte_read_u32(reader, &shape.rank));
    if (!dtype_is_known(dtype) || slot > 1 || shape.rank > SHAPE_RANK_MAX)
        FAIL(CORRUPT, "value %u of element type %u, slot %u, rank %u", index, dtype, slot,
            shape.rank);
    for (uint32_t i = 0; i < shape.rank; i++) TRY(byte_read_i64(reader, &shape.dims[i]));
    TRY(check_left(reader, rnn, (DType)dtype, &shape));
    TRY(error_recode(rnn_set_value(rnn, index, (DType)dtype, &shape), ERROR_CORRUPT));
    RnnValue *value = &rnn->values[index];
    value->slot = slot;
    const uint8_t *bytes;
    TRY(byte_read_view(reader, value->bytes, &bytes));
    memcpy(value->initial, bytes, value->bytes);
    for (int64_t layer = 0; layer < rnn->layers; layer++) {
        for (uint32_t place = 0; place < rnn->places; place++) {
            if (!rnn->sequences[place].used) continue;
            TRY(byte_read_view(reader, (uint64_t)rnn->history * value->bytes, &bytes));
            memcpy(rnn_entry(rnn, value, layer, place, 0), bytes,
                (uint64_t)rnn->history * value->bytes);
        }
    }
    return NULL;
}

static Error *rnn_load(ByteReader *reader, void **out) {
    int64_t layers, places, history;
    uint32_t value_count;
    TRY(byte_read_i64(reader, &layers));
    TRY(byte_read_i64(reader, &places));
    TRY(byte_read_i64(reader, &history));
    TRY(byte_read_u32(reader, &value_count));
    if (places < 0 || (uint64_t)places > byte_reader_left(reader) ||
        value_count > byte_reader_left(reader))
        FAIL(CORRUPT, "%" PRIi64 " sequences of %u values; the state ends early", places,
            value_count);
    OWN(OwnedRnn, rnn) = NULL;
    TRY(error_recode(rnn_create(layers, places, history, value_count, &rnn), ERROR_CORRUPT));
    TRY(load_sequences(reader, rnn));
    for (uint32_t i = 0; i < value_count; i++) TRY(load_value(reader, rnn, i));
    *out = TAKE(rnn);
    return NULL;
}

const OpaqueKind relax_rnn_state = {
    .name = "relax.rnn_state",
    .destroy = rnn_destroy,
    .bytes = rnn_bytes,
    .copy = rnn_copy,
    .save = rnn_save,
    .load = rnn_load,
};
