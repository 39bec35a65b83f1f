#include "serialize/checkpoint/job_file.h"

#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/checkpoint/checkpoint.h"
#include "serialize/container/value_bytes.h"

enum { ARRAYS_BYTES_MIN = 8, CHUNK_REF_BYTES = DIGEST_SIZE + 4, RELEASE_MAX = 2 };
/* The sections of an execution, in a checkpoint or in a job's file. */
static const SectionNumber execution_sections[] = {SECTION_HEADER, SECTION_FRAMES,
    SECTION_REGISTERS, SECTION_OBJECTS, SECTION_COUNTERS, SECTION_YIELDS, SECTION_STATEFUL,
    SECTION_LABELS};
enum { EXECUTION_SECTIONS = sizeof execution_sections / sizeof *execution_sections };

struct JobFileMemory {
    char *model;
    JobFileArrays *outputs;
    ChunkRef *chunks; /* chunks of inputs and outputs, in the order of their sections */
    size_t chunk_count, chunk_capacity;
};

/* ---- writing ---- */

static void write_arrays(ByteWriter *writer, const JobFileArrays *arrays) {
    byte_write_u32(writer, (uint32_t)arrays->size);
    byte_write_bytes(writer, arrays->bytes, arrays->size);
    byte_write_u32(writer, (uint32_t)arrays->chunk_count);
    for (size_t i = 0; i < arrays->chunk_count; i++) {
        byte_write_bytes(writer, arrays->chunks[i].hash.bytes, DIGEST_SIZE);
        byte_write_u32(writer, arrays->chunks[i].raw_size);
    }
}

static void write_block(ByteWriter *writer, const void *bytes, size_t size) {
    byte_write_u32(writer, (uint32_t)size);
    byte_write_bytes(writer, bytes, size);
}

static Error *write_job(const JobFile *file, ContainerWriter *container) {
    ByteWriter OWN_BYTES(job) = {0};
    ByteWriter OWN_BYTES(origin) = {0};
    byte_write_text(&job, file->model);
    byte_write_u8(&job, file->priority);
    byte_write_u8(&job, file->release);
    byte_write_i64(&job, file->items_total);
    byte_write_i64(&job, file->items_done);
    byte_write_u8(&job, (uint8_t)!isnan(file->deadline_s));
    byte_write_f64(&job, isnan(file->deadline_s) ? 0 : file->deadline_s);
    write_block(&job, file->policy, file->policy_size);
    write_block(&job, file->point, file->point_size);
    byte_write_u64(&origin, file->origin.node);
    byte_write_u64(&origin, file->origin.number);
    byte_write_i64(&origin, file->origin.epoch);
    byte_write_u8(&origin, (uint8_t)file->origin.owner);
    TRY(container_writer_add_written(container, SECTION_JOB, &job));
    return container_writer_add_written(container, SECTION_ORIGIN, &origin);
}

static Error *write_arrays_and_model(const JobFile *file, ContainerWriter *container) {
    ByteWriter OWN_BYTES(inputs) = {0};
    ByteWriter OWN_BYTES(outputs) = {0};
    write_arrays(&inputs, &file->inputs);
    byte_write_u32(&outputs, (uint32_t)file->output_count);
    for (size_t i = 0; i < file->output_count; i++) {
        write_arrays(&outputs, &file->outputs[i]);
        if (outputs.size > CONTAINER_MANIFEST_SIZE_MAX)
            FAIL(INVALID, "more than %llu bytes of outputs do not go into a file",
                (unsigned long long)CONTAINER_MANIFEST_SIZE_MAX);
    }
    TRY(container_writer_add_written(container, SECTION_INPUTS, &inputs));
    TRY(container_writer_add_written(container, SECTION_OUTPUTS, &outputs));
    if (!file->executable) return NULL;
    return container_writer_add_section(
        container, SECTION_MODEL, file->executable, file->executable_size);
}

/* Copies sections and bulk data unchanged and in order, so that bulk indices stay valid. */
static Error *copy_execution(const Container *from, ContainerWriter *to) {
    for (size_t i = 0; i < EXECUTION_SECTIONS; i++) {
        ByteReader section;
        if (!container_has_section(from, execution_sections[i])) continue;
        TRY(container_get_section(from, execution_sections[i], &section));
        TRY(container_writer_add_section(to, execution_sections[i], section.data, section.size));
    }
    for (uint32_t i = 0; i < container_bulk_count(from); i++) {
        ContainerBulk bulk;
        uint32_t index;
        TRY(container_get_bulk(from, i, &bulk));
        TRY(container_writer_add_bulk_refs(to, bulk.refs, bulk.size, bulk.chunk_size, &index));
    }
    return NULL;
}

/* The header of a job between two runs: it has an executable, but no execution. */
static Error *write_header(const JobFile *file, ContainerWriter *container) {
    ByteWriter OWN_BYTES(header) = {0};
    byte_write_bytes(&header, file->executable_identity.bytes, DIGEST_SIZE);
    byte_write_text(&header, "");
    byte_write_u64(&header, 0);
    return container_writer_add_written(container, SECTION_HEADER, &header);
}

/* The chunks are already in the sink of the file's writer; the containers here only list them. */
Error *job_file_write(const JobFile *file, const Container *execution, ByteWriter *out_manifest,
    Digest *out_identity) {
    OWN(ContainerWriter, container) = NULL;
    TRY(container_writer_create(CONTAINER_CHECKPOINT, NULL, chunk_sink_full(), &container));
    TRY(execution ? copy_execution(execution, container) : write_header(file, container));
    TRY(write_job(file, container));
    TRY(write_arrays_and_model(file, container));
    return container_writer_finish(container, out_manifest, out_identity);
}

Error *job_file_get_execution(const Container *container, ByteWriter *out_manifest) {
    OWN(ContainerWriter, writer) = NULL;
    Digest identity;
    TRY(container_writer_create(CONTAINER_CHECKPOINT, NULL, chunk_sink_full(), &writer));
    TRY(copy_execution(container, writer));
    return container_writer_finish(writer, out_manifest, &identity);
}

/* ---- reading ---- */

bool job_file_is(const Container *container) {
    return container_get_kind(container) == CONTAINER_CHECKPOINT &&
           container_has_section(container, SECTION_JOB);
}

bool job_file_has_execution(const Container *container) {
    return container_has_section(container, SECTION_FRAMES);
}

void job_file_deinit(JobFile *file) {
    if (file->memory) {
        memory_free(file->memory->model);
        memory_free(file->memory->outputs);
        memory_free(file->memory->chunks);
        memory_free(file->memory);
    }
    *file = (JobFile){0};
}

static Error *read_block(
    ByteReader *reader, size_t size_max, const void **out_bytes, size_t *out_size) {
    uint32_t size;
    const uint8_t *bytes;
    TRY(byte_read_count(reader, 1, &size));
    if (size > size_max) FAIL(CORRUPT, "%u bytes, at most %zu are taken", size, size_max);
    TRY(byte_read_view(reader, size, &bytes));
    *out_bytes = bytes;
    *out_size = size;
    return NULL;
}

static Error *check_counts(const JobFile *file) {
    bool single = file->items_total == -1;
    if (file->items_total < -1 || file->items_done < 0 ||
        (single ? file->items_done > 0 : file->items_done > file->items_total))
        FAIL(CORRUPT, "%lld of %lld items are done", (long long)file->items_done,
            (long long)file->items_total);
    if (file->release < 1 || file->release > RELEASE_MAX)
        FAIL(CORRUPT, "release %u", file->release);
    return NULL;
}

static Error *read_deadline(ByteReader *reader, double *out) {
    bool has_deadline;
    double left;
    TRY(value_bytes_read_bool(reader, &has_deadline));
    TRY(byte_read_f64(reader, &left));
    if (!isfinite(left) || (!has_deadline && left != 0)) FAIL(CORRUPT, "a deadline in %f s", left);
    *out = has_deadline ? left : NAN;
    return NULL;
}

static Error *read_job(const Container *container, JobFile *file) {
    ByteReader reader;
    TRY(container_get_section(container, SECTION_JOB, &reader));
    TRY(byte_read_text(&reader, JOB_FILE_MODEL_SIZE - 1, &file->memory->model));
    file->model = file->memory->model;
    TRY(byte_read_u8(&reader, &file->priority));
    TRY(byte_read_u8(&reader, &file->release));
    TRY(byte_read_i64(&reader, &file->items_total));
    TRY(byte_read_i64(&reader, &file->items_done));
    TRY(check_counts(file));
    TRY(read_deadline(&reader, &file->deadline_s));
    TRY_WRAP(read_block(&reader, JOB_FILE_POLICY_MAX, &file->policy, &file->policy_size), "policy");
    TRY_WRAP(read_block(&reader, JOB_FILE_POINT_MAX, &file->point, &file->point_size), "point");
    return byte_reader_check_end(&reader);
}

static Error *read_origin(const Container *container, JobFileOrigin *out) {
    ByteReader reader;
    uint8_t owner;
    TRY(container_get_section(container, SECTION_ORIGIN, &reader));
    TRY(byte_read_u64(&reader, &out->node));
    TRY(byte_read_u64(&reader, &out->number));
    TRY(byte_read_i64(&reader, &out->epoch));
    TRY(byte_read_u8(&reader, &owner));
    if (out->node < 1 || out->node > JOB_FILE_NODE_MAX || out->number < 1 ||
        out->number > INT64_MAX)
        FAIL(CORRUPT, "job %llx-%llu", (unsigned long long)out->node,
            (unsigned long long)out->number);
    if (out->epoch < 0 || out->epoch == INT64_MAX)
        FAIL(CORRUPT, "epoch %lld", (long long)out->epoch);
    if (owner < JOB_FILE_COPY || owner > JOB_FILE_MOVE) FAIL(CORRUPT, "owner %u", owner);
    out->owner = (JobFileOwner)owner;
    return byte_reader_check_end(&reader);
}

static Error *read_chunk(ByteReader *reader, ChunkRef *out) {
    const uint8_t *hash;
    TRY(byte_read_view(reader, DIGEST_SIZE, &hash));
    TRY(byte_read_u32(reader, &out->raw_size));
    if (out->raw_size < 1 || out->raw_size > CHUNK_SIZE)
        FAIL(CORRUPT, "a chunk of %u bytes", out->raw_size);
    memcpy(out->hash.bytes, hash, DIGEST_SIZE);
    return NULL;
}

/* out->chunks is set after all chunks are read, since the array moves when it grows. */
static Error *read_arrays(ByteReader *reader, struct JobFileMemory *memory, JobFileArrays *out) {
    uint32_t count;
    TRY(read_block(reader, SIZE_MAX, &out->bytes, &out->size));
    TRY(byte_read_count(reader, CHUNK_REF_BYTES, &count));
    for (; out->chunk_count < count; out->chunk_count++) {
        void *chunks = memory->chunks;
        TRY(memory_grow(&chunks, memory->chunk_count, &memory->chunk_capacity, sizeof(ChunkRef)));
        memory->chunks = chunks;
        TRY_WRAP(read_chunk(reader, &memory->chunks[memory->chunk_count]), "chunk %zu",
            out->chunk_count);
        memory->chunk_count++;
    }
    return NULL;
}

static Error *read_outputs(const Container *container, JobFile *file) {
    ByteReader reader;
    uint32_t count;
    void *memory;
    TRY(container_get_section(container, SECTION_OUTPUTS, &reader));
    TRY(byte_read_count(&reader, ARRAYS_BYTES_MIN, &count));
    TRY(memory_alloc(count, sizeof(JobFileArrays), &memory));
    file->outputs = file->memory->outputs = memory;
    for (; file->output_count < count; file->output_count++)
        TRY_WRAP(read_arrays(&reader, file->memory, &file->memory->outputs[file->output_count]),
            "output %zu", file->output_count);
    return byte_reader_check_end(&reader);
}

static Error *read_inputs(const Container *container, JobFile *file) {
    ByteReader reader;
    TRY(container_get_section(container, SECTION_INPUTS, &reader));
    TRY(read_arrays(&reader, file->memory, &file->inputs));
    return byte_reader_check_end(&reader);
}

static void place_chunks(JobFile *file) {
    const ChunkRef *next = file->memory->chunks;
    file->inputs.chunks = next;
    if (next) next += file->inputs.chunk_count;
    for (size_t i = 0; i < file->output_count; i++) {
        file->memory->outputs[i].chunks = next;
        if (next) next += file->outputs[i].chunk_count;
    }
}

static Error *read_sections(const Container *container, JobFile *file) {
    CheckpointHeader header;
    ByteReader model;
    TRY(checkpoint_read_header(container, &header));
    file->executable_identity = header.executable;
    checkpoint_header_deinit(&header);
    TRY_WRAP(read_job(container, file), "job");
    TRY_WRAP(read_origin(container, &file->origin), "origin");
    TRY_WRAP(read_inputs(container, file), "inputs");
    TRY_WRAP(read_outputs(container, file), "outputs");
    place_chunks(file);
    if (!container_has_section(container, SECTION_MODEL)) return NULL;
    TRY(container_get_section(container, SECTION_MODEL, &model));
    file->executable = model.data;
    file->executable_size = model.size;
    return NULL;
}

Error *job_file_read(const Container *container, JobFile *out_file) {
    JobFile OWN_JOB_FILE(file) = {.deadline_s = NAN};
    void *memory;
    TRY(memory_alloc(1, sizeof(struct JobFileMemory), &memory));
    file.memory = memory;
    TRY_WRAP(read_sections(container, &file), "job file");
    *out_file = file;
    file = (JobFile){0};
    return NULL;
}
