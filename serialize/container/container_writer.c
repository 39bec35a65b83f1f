#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/chunk/codec_context.h"
#include "serialize/container/container_internal.h"

typedef struct PendingSection {
    const SectionInfo *info;
    ByteWriter bytes;
} PendingSection;

typedef struct PendingBulk {
    uint64_t size;
    uint32_t chunk_size;
    size_t first_ref;
    bool later; /* its chunks are not in the sink yet */
    RawRun run; /* then */
} PendingBulk;

struct ContainerWriter {
    ContainerKind kind;
    WorkerPool *pool;
    ChunkSink sink;
    PendingSection *sections;
    size_t section_count;
    size_t section_capacity;
    PendingBulk *bulks;
    size_t bulk_count;
    size_t bulk_capacity;
    ChunkRef *refs;
    size_t ref_count;
    size_t ref_capacity;
};

Error *container_writer_create(
    ContainerKind kind, WorkerPool *pool, ChunkSink sink, ContainerWriter **out) {
    assert(kind != CONTAINER_ANY);
    void *memory = NULL;
    TRY(memory_alloc(1, sizeof(ContainerWriter), &memory));
    ContainerWriter *writer = memory;
    *writer = (ContainerWriter){.kind = kind, .pool = pool, .sink = sink};
    *out = writer;
    return NULL;
}

void container_writer_release(ContainerWriter *writer) {
    if (!writer) return;
    for (size_t i = 0; i < writer->section_count; i++)
        byte_writer_deinit(&writer->sections[i].bytes);
    memory_free(writer->sections);
    memory_free(writer->bulks);
    memory_free(writer->refs);
    memory_free(writer);
}

/* The new section's empty buffer. */
static Error *add_section(ContainerWriter *writer, SectionNumber number, ByteWriter **out) {
    const SectionInfo *info = container_find_section_info(writer->kind, number);
    if (!info)
        FAIL(INTERNAL, "%s has no section %d", container_kind_name(writer->kind), (int)number);
    for (size_t i = 0; i < writer->section_count; i++)
        if (writer->sections[i].info == info) FAIL(INTERNAL, "section %s is there", info->name);
    void *sections = writer->sections;
    TRY(memory_grow(
        &sections, writer->section_count, &writer->section_capacity, sizeof *writer->sections));
    writer->sections = sections;
    PendingSection *section = &writer->sections[writer->section_count++];
    *section = (PendingSection){.info = info};
    *out = &section->bytes;
    return NULL;
}

Error *container_writer_add_section(
    ContainerWriter *writer, SectionNumber number, const void *data, size_t size) {
    assert(number != SECTION_BULK);
    ByteWriter *bytes = NULL;
    TRY(add_section(writer, number, &bytes));
    byte_write_bytes(bytes, data, size);
    return byte_writer_check(bytes);
}

Error *container_writer_add_written(
    ContainerWriter *writer, SectionNumber number, const ByteWriter *written) {
    TRY(byte_writer_check(written));
    return container_writer_add_section(writer, number, written->data, written->size);
}

/* Makes room for the refs of one more piece of bulk data, without counting them yet. */
static Error *reserve_bulk(ContainerWriter *writer, uint64_t size, uint32_t chunk_size) {
    assert(container_chunk_size_is_valid(chunk_size));
    if (writer->bulk_count >= CONTAINER_BULKS_MAX)
        FAIL(INVALID, "more than %d pieces of bulk data", CONTAINER_BULKS_MAX);
    size_t count = chunk_count(size, chunk_size);
    if (count > CONTAINER_MANIFEST_SIZE_MAX / DIGEST_SIZE - writer->ref_count)
        FAIL(INVALID, "more bulk data than a manifest of %llu bytes can list",
            (unsigned long long)CONTAINER_MANIFEST_SIZE_MAX);
    void *bulks = writer->bulks;
    TRY(memory_grow(&bulks, writer->bulk_count, &writer->bulk_capacity, sizeof *writer->bulks));
    writer->bulks = bulks;
    if (count <= writer->ref_capacity - writer->ref_count) return NULL;
    size_t capacity = 2 * writer->ref_capacity + count;
    void *refs = writer->refs;
    TRY(memory_resize(&refs, capacity, sizeof *writer->refs));
    writer->refs = refs;
    writer->ref_capacity = capacity;
    return NULL;
}

static uint32_t add_bulk(ContainerWriter *writer, uint64_t size, uint32_t chunk_size) {
    writer->bulks[writer->bulk_count] =
        (PendingBulk){.size = size, .chunk_size = chunk_size, .first_ref = writer->ref_count};
    writer->ref_count += chunk_count(size, chunk_size);
    return (uint32_t)writer->bulk_count++;
}

Error *container_writer_add_bulk(ContainerWriter *writer, const void *data, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, KnownChunks known, uint32_t *out_index) {
    TRY(reserve_bulk(writer, size, chunk_size));
    TRY(chunk_write_data(writer->pool, data, size, chunk_size, filter, known, writer->sink,
        writer->refs + writer->ref_count));
    *out_index = add_bulk(writer, size, chunk_size);
    return NULL;
}

Error *container_writer_add_bulk_later(ContainerWriter *writer, const void *data, uint64_t size,
    ChunkFilter filter, uint32_t *out_index) {
    TRY(reserve_bulk(writer, size, CHUNK_SIZE));
    *out_index = add_bulk(writer, size, CHUNK_SIZE);
    writer->bulks[*out_index].later = true;
    writer->bulks[*out_index].run = (RawRun){data, size, filter};
    return NULL;
}

/* Puts the chunks of neighbouring bulk data, whose refs lie one behind the other. */
static Error *put_together(ContainerWriter *writer, const PendingBulk *bulks, size_t count) {
    void *memory;
    TRY(memory_alloc(count, sizeof(RawRun), &memory));
    RawRun *runs = memory;
    for (size_t i = 0; i < count; i++) runs[i] = bulks[i].run;
    Error *error = chunk_write_runs(
        writer->pool, runs, count, CHUNK_SIZE, writer->sink, writer->refs + bulks[0].first_ref);
    memory_free(memory);
    return error;
}

static Error *put_later(ContainerWriter *writer) {
    for (size_t i = 0, count; i < writer->bulk_count; i += count ? count : 1) {
        for (count = 0; i + count < writer->bulk_count && writer->bulks[i + count].later;) count++;
        if (count > 0) TRY(put_together(writer, &writer->bulks[i], count));
    }
    return NULL;
}

Error *container_writer_add_bulk_read(ContainerWriter *writer, RawChunks reader, uint64_t size,
    uint32_t chunk_size, ChunkFilter filter, KnownChunks known, uint32_t *out_index) {
    TRY(reserve_bulk(writer, size, chunk_size));
    ChunkRef *refs = writer->refs + writer->ref_count;
    if (known.count > 0) memcpy(refs, known.refs, known.count * sizeof *refs);
    if (known.count < chunk_count(size, chunk_size))
        TRY(chunk_write_read(writer->pool, reader, size - (uint64_t)known.count * chunk_size,
            chunk_size, filter, writer->sink, refs + known.count));
    *out_index = add_bulk(writer, size, chunk_size);
    return NULL;
}

Error *container_writer_add_bulk_refs(ContainerWriter *writer, const ChunkRef *refs, uint64_t size,
    uint32_t chunk_size, uint32_t *out_index) {
    /* refs may come from container_writer_get_refs, whose array moves when it grows */
    uintptr_t distance = (uintptr_t)refs - (uintptr_t)writer->refs;
    bool own = writer->refs && refs && distance < writer->ref_count * sizeof *refs;
    TRY(reserve_bulk(writer, size, chunk_size));
    if (own) refs = writer->refs + distance / sizeof *refs;
    size_t count = chunk_count(size, chunk_size);
    if (count > 0) memcpy(writer->refs + writer->ref_count, refs, count * sizeof *refs);
    *out_index = add_bulk(writer, size, chunk_size);
    return NULL;
}

const ChunkRef *container_writer_get_refs(const ContainerWriter *writer, uint32_t index) {
    assert(index < writer->bulk_count && !writer->bulks[index].later);
    return writer->refs + writer->bulks[index].first_ref;
}

static Error *write_bulk_section(ContainerWriter *writer) {
    if (writer->bulk_count == 0) return NULL; /* canonical: no bulk data, no section */
    ByteWriter *bytes = NULL;
    TRY(add_section(writer, SECTION_BULK, &bytes));
    byte_write_u32(bytes, (uint32_t)writer->bulk_count);
    for (size_t i = 0; i < writer->bulk_count; i++) {
        const PendingBulk *bulk = &writer->bulks[i];
        byte_write_u64(bytes, bulk->size);
        byte_write_u32(bytes, bulk->chunk_size);
        size_t count = chunk_count(bulk->size, bulk->chunk_size);
        for (size_t c = 0; c < count; c++)
            byte_write_bytes(bytes, writer->refs[bulk->first_ref + c].hash.bytes, DIGEST_SIZE);
    }
    return byte_writer_check(bytes);
}

static int compare_sections(const void *a, const void *b) {
    uint32_t left = ((const PendingSection *)a)->info->number;
    uint32_t right = ((const PendingSection *)b)->info->number;
    return (left > right) - (left < right);
}

Error *container_writer_finish(
    ContainerWriter *writer, ByteWriter *out_manifest, Digest *out_identity) {
    assert(out_manifest->size == 0);
    TRY(put_later(writer));
    TRY(write_bulk_section(writer));
    if (writer->section_count > 0)
        qsort(writer->sections, writer->section_count, sizeof *writer->sections, compare_sections);
    byte_write_bytes(out_manifest, container_manifest_magic(writer->kind), MAGIC_SIZE);
    byte_write_u32(out_manifest, CONTAINER_VERSION);
    byte_write_u32(out_manifest, (uint32_t)writer->section_count);
    for (size_t i = 0; i < writer->section_count; i++) {
        const PendingSection *section = &writer->sections[i];
        byte_write_u32(out_manifest, section->info->number);
        byte_write_u32(out_manifest, section->info->optional ? SECTION_FLAG_OPTIONAL : 0);
        byte_write_u64(out_manifest, section->bytes.size);
        byte_write_u64(out_manifest, digest_xxh3(section->bytes.data, section->bytes.size));
    }
    TRY(byte_writer_check(out_manifest));
    byte_write_u64(out_manifest, digest_xxh3(out_manifest->data, out_manifest->size));
    for (size_t i = 0; i < writer->section_count; i++)
        byte_write_bytes(
            out_manifest, writer->sections[i].bytes.data, writer->sections[i].bytes.size);
    TRY(byte_writer_check(out_manifest));
    if (out_manifest->size > CONTAINER_MANIFEST_SIZE_MAX)
        FAIL(INVALID, "a manifest of %zu bytes, at most %llu are possible", out_manifest->size,
            (unsigned long long)CONTAINER_MANIFEST_SIZE_MAX);
    return digest_sha256(out_manifest->data, out_manifest->size, out_identity);
}

Error *container_pack_manifest(const void *manifest, size_t manifest_size, ByteWriter *out_packed) {
    CodecContext *context = NULL;
    TRY(codec_context_get(&context));
    void *memory = NULL;
    TRY(memory_alloc(manifest_size, 1, &memory));
    size_t packed_size = 0;
    Error *error = NULL;
    if (manifest_size > 0)
        error = codec_compress(context, CODEC_LEVEL_3, manifest, manifest_size, memory,
            manifest_size - 1, &packed_size);
    if (!error) {
        bool pays = packed_size > 0 && packed_size + PACKED_HEADER_SIZE < manifest_size &&
                    manifest_size <= packed_size * PACK_RATIO_MAX + PACK_SLACK;
        if (pays) {
            byte_write_bytes(out_packed, PACKED_MAGIC, MAGIC_SIZE);
            byte_write_u64(out_packed, digest_xxh3(memory, packed_size));
            byte_write_bytes(out_packed, memory, packed_size);
        } else
            byte_write_bytes(out_packed, manifest, manifest_size);
        error = byte_writer_check(out_packed);
    }
    memory_free(memory);
    return error;
}
