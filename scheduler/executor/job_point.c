#include "scheduler/executor/job_point.h"

#include <string.h>

#include "base/allocator.h"
#include "serialize/container/value_bytes.h"

enum { VERSION = 1, OUTPUTS_MAX = 1 << 16, OUTPUT_BYTES_MIN = 6, OUTPUT_NAME_MAX = 1200 };
static const uint8_t magic[4] = {'L', 'V', 'J', 'C'};

void job_point_deinit(JobPoint *point) {
    batch_outputs_deinit(&point->outputs);
    *point = (JobPoint){0};
}

static void write_outputs(const BatchOutputs *outputs, ByteWriter *writer) {
    byte_write_u8(writer, outputs->known);
    byte_write_u32(writer, (uint32_t)outputs->count);
    for (size_t i = 0; i < outputs->count; i++) {
        byte_write_text(writer, outputs->items[i].name);
        byte_write_u8(writer, (uint8_t)outputs->items[i].dtype);
        value_bytes_write_shape(writer, &outputs->items[i].shape);
    }
}

Error *job_point_write(const JobPoint *point, ByteWriter *writer) {
    byte_write_bytes(writer, magic, sizeof magic);
    byte_write_u32(writer, VERSION);
    byte_write_u64(writer, point->next_run);
    byte_write_i64(writer, point->sequence);
    write_outputs(&point->outputs, writer);
    byte_write_u8(writer, point->manifest != NULL);
    if (point->manifest) {
        byte_write_u32(writer, (uint32_t)point->manifest_size);
        byte_write_bytes(writer, point->manifest, point->manifest_size);
    }
    return byte_writer_check(writer);
}

static Error *read_output(ByteReader *reader, NamedArray *out) {
    TRY(byte_read_text(reader, OUTPUT_NAME_MAX, &out->name));
    TRY(value_bytes_read_dtype(reader, false, &out->dtype));
    return value_bytes_read_shape(reader, 0, &out->shape);
}

static Error *read_outputs(ByteReader *reader, BatchOutputs *out) {
    uint32_t count;
    void *memory;
    TRY(value_bytes_read_bool(reader, &out->known));
    TRY(byte_read_count(reader, OUTPUT_BYTES_MIN, &count));
    if (count > OUTPUTS_MAX || (!out->known && count > 0)) FAIL(CORRUPT, "%u outputs", count);
    TRY(memory_alloc(count, sizeof(NamedArray), &memory));
    out->items = memory;
    while (out->count < count)
        TRY_WRAP(read_output(reader, &out->items[out->count++]), "output %zu", out->count);
    return NULL;
}

static Error *read_manifest(ByteReader *reader, JobPoint *out) {
    bool has_execution;
    uint32_t size;
    TRY(value_bytes_read_bool(reader, &has_execution));
    if (!has_execution) return NULL;
    TRY(byte_read_count(reader, 1, &size));
    TRY(byte_read_view(reader, size, &out->manifest));
    out->manifest_size = size;
    return NULL;
}

static Error *read_all(ByteReader *reader, JobPoint *out) {
    const uint8_t *head;
    uint32_t version;
    TRY(byte_read_view(reader, sizeof magic, &head));
    if (memcmp(head, magic, sizeof magic) != 0) FAIL(CORRUPT, "no job's checkpoint");
    TRY(byte_read_u32(reader, &version));
    if (version != VERSION)
        FAIL(UNSUPPORTED, "a job's checkpoint of version %u; this program reads version %d",
            version, VERSION);
    TRY(byte_read_u64(reader, &out->next_run));
    TRY(byte_read_i64(reader, &out->sequence));
    if (out->sequence < 0) FAIL(CORRUPT, "output %lld", (long long)out->sequence);
    TRY(read_outputs(reader, &out->outputs));
    TRY(read_manifest(reader, out));
    return byte_reader_check_end(reader);
}

Error *job_point_read(const void *bytes, size_t size, JobPoint *out_point) {
    JobPoint OWN_POINT(point) = {0};
    ByteReader reader = byte_reader(bytes, size);
    TRY(read_all(&reader, &point));
    *out_point = point;
    point = (JobPoint){0};
    return NULL;
}
