#include <string.h>

#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/checkpoint/checkpoint_internal.h"
#include "serialize/checkpoint/warm_storages.h"

enum { FRAME_BYTES = 12, REGISTER_BYTES_MIN = 9, INPUT_BYTES_MIN = 5 };

static Error *read_header(ByteReader *reader, CheckpointHeader *out) {
    const uint8_t *identity;
    TRY(byte_read_view(reader, DIGEST_SIZE, &identity));
    memcpy(out->executable.bytes, identity, DIGEST_SIZE);
    TRY(byte_read_text(reader, CHECKPOINT_CLASS_MAX, &out->determinism_class));
    TRY(byte_read_u64(reader, &out->epoch));
    return byte_reader_check_end(reader);
}

Error *checkpoint_read_header(const Container *container, CheckpointHeader *out) {
    ByteReader reader;
    CheckpointHeader header = {0};
    TRY(container_get_section(container, SECTION_HEADER, &reader));
    Error *error = read_header(&reader, &header);
    if (error) {
        checkpoint_header_deinit(&header);
        return error_wrap(error, "checkpoint header");
    }
    *out = header;
    return NULL;
}

void checkpoint_header_deinit(CheckpointHeader *header) {
    memory_free(header->determinism_class);
    *header = (CheckpointHeader){0};
}

static Error *read_frames(const Container *container, Snapshot *snapshot) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(container, SECTION_FRAMES, &reader));
    TRY(byte_read_u32(&reader, &snapshot->entry));
    TRY(byte_read_count(&reader, FRAME_BYTES, &count));
    TRY(memory_alloc(count, sizeof(Frame), &memory));
    snapshot->frames = memory;
    snapshot->frame_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(byte_read_u32(&reader, &snapshot->frames[i].function));
        TRY(byte_read_u32(&reader, &snapshot->frames[i].pc));
        TRY(byte_read_u32(&reader, &snapshot->frames[i].return_register));
    }
    return byte_reader_check_end(&reader);
}

static Error *read_registers(
    const Container *container, const CheckpointObjects *objects, Snapshot *snapshot) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(container, SECTION_REGISTERS, &reader));
    TRY(byte_read_count(&reader, REGISTER_BYTES_MIN, &count));
    TRY(memory_alloc(count, sizeof(SnapshotRegister), &memory));
    snapshot->registers = memory;
    snapshot->register_count = count;
    for (uint32_t i = 0; i < count; i++) {
        SnapshotRegister *to = &snapshot->registers[i];
        TRY(byte_read_u32(&reader, &to->frame));
        TRY(byte_read_u32(&reader, &to->index));
        TRY_WRAP(checkpoint_value_read(&reader, objects, objects->count, &to->value),
            "register %u of frame %u", to->index, to->frame);
    }
    TRY_WRAP(checkpoint_value_read(&reader, objects, objects->count, &snapshot->result), "result");
    return byte_reader_check_end(&reader);
}

static Error *read_counters(const Container *container, Snapshot *snapshot) {
    ByteReader reader;
    TRY(container_get_section(container, SECTION_COUNTERS, &reader));
    TRY(byte_read_u64(&reader, &snapshot->philox_key));
    TRY(byte_read_u64(&reader, &snapshot->counters.philox));
    TRY(byte_read_u64(&reader, &snapshot->counters.instructions));
    TRY(byte_read_u64(&reader, &snapshot->counters.kernel_calls));
    TRY(byte_read_u64(&reader, &snapshot->counters.yields));
    return byte_reader_check_end(&reader);
}

static Error *read_yields(
    const Container *container, const CheckpointObjects *objects, Snapshot *snapshot) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(container, SECTION_YIELDS, &reader));
    TRY(byte_read_count(&reader, 1, &count));
    TRY(memory_alloc(count, sizeof(Value), &memory));
    snapshot->yields = memory;
    snapshot->yield_count = count;
    for (uint32_t i = 0; i < count; i++)
        TRY_WRAP(checkpoint_value_read(&reader, objects, objects->count, &snapshot->yields[i]),
            "yield %u", i);
    return byte_reader_check_end(&reader);
}

static Error *read_inputs(
    const Container *container, const CheckpointObjects *objects, Snapshot *snapshot) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(container, SECTION_STATEFUL, &reader));
    TRY(byte_read_count(&reader, INPUT_BYTES_MIN, &count));
    TRY(memory_alloc(count, sizeof(SnapshotInput), &memory));
    snapshot->inputs = memory;
    snapshot->input_count = count;
    for (uint32_t i = 0; i < count; i++) {
        TRY(byte_read_text(&reader, FUNCTION_NAME_MAX, &snapshot->inputs[i].name));
        TRY_WRAP(
            checkpoint_value_read(&reader, objects, objects->count, &snapshot->inputs[i].value),
            "stateful input %u", i);
    }
    return byte_reader_check_end(&reader);
}

static Error *read_sections(
    const Container *container, const CheckpointObjects *objects, Snapshot *snapshot) {
    TRY_WRAP(read_registers(container, objects, snapshot), "registers");
    TRY_WRAP(read_yields(container, objects, snapshot), "yields");
    return error_wrap(read_inputs(container, objects, snapshot), "stateful");
}

/* Counters are read first, since the execution gets its philox key when it is made. */
static Error *read_execution(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, const ExecutionOptions *options, WarmStorages *warm, Snapshot *snapshot,
    Execution **out) {
    OWN(Execution, execution) = NULL;
    CheckpointObjects objects = {0};
    ExecutionOptions with_key = *options;
    TRY_WRAP(read_counters(container, snapshot), "counters");
    TRY_WRAP(read_frames(container, snapshot), "frames");
    with_key.philox_key = snapshot->philox_key;
    TRY(execution_create_empty(residency, &with_key, &execution));
    TRY_WRAP(checkpoint_objects_read(container, pool, verify, residency, execution, warm, &objects),
        "objects");
    Error *error = read_sections(container, &objects, snapshot);
    checkpoint_objects_deinit(&objects);
    TRY(error);
    TRY(execution_restore(execution, snapshot));
    *out = TAKE(execution);
    return NULL;
}

static Error *read_checkpoint(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, const ExecutionOptions *options, WarmStorages *warm, Execution **out) {
    CheckpointHeader header;
    TRY(checkpoint_read_header(container, &header));
    bool fits = digest_equal(&header.executable, &residency->executable->identity);
    checkpoint_header_deinit(&header);
    if (!fits) FAIL(INVALID, "the checkpoint belongs to another executable");
    void *memory;
    TRY(memory_alloc(1, sizeof(Snapshot), &memory));
    OWN(Snapshot, snapshot) = memory;
    snapshot->executable = executable_retain(residency->executable);
    snapshot->residency = residency_retain(residency);
    return error_wrap(
        read_execution(container, pool, verify, residency, options, warm, snapshot, out),
        "checkpoint");
}

/* Also clears the set after a failure: some storages are then gone, and with them the bytes of its
 * chunks. */
Error *checkpoint_read(const Container *container, WorkerPool *pool, ChunkVerify verify,
    Residency *residency, const ExecutionOptions *options, WarmStorages *warm, Execution **out) {
    Error *error = read_checkpoint(container, pool, verify, residency, options, warm, out);
    if (warm) warm_storages_clear(warm);
    return error;
}
