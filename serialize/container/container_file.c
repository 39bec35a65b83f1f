#include <assert.h>
#include <string.h>

#include "base/allocator.h"
#include "serialize/container/container_internal.h"

enum { TABLE_SIZE_MIN = 64 };

struct ContainerFile {
    FileOutput *output; /* one of these two */
    ByteWriter *memory; /* both NULL: only the size is computed */
    uint64_t size;      /* bytes written so far */
    IndexEntry *entries;
    size_t entry_count;
    size_t entry_capacity;
    uint32_t
        *table; /* open addressing by hash: position in entries + 1, 0 empty; at most half full */
    size_t table_size;
};

static Error *file_append(ContainerFile *file, const void *data, size_t size) {
    if (file->output)
        TRY(file_output_write(file->output, data, size));
    else if (file->memory) {
        byte_write_bytes(file->memory, data, size);
        TRY(byte_writer_check(file->memory));
    }
    file->size += size;
    return NULL;
}

static Error *create(FileOutput *output, ByteWriter *memory, ContainerFile **out) {
    void *block = NULL;
    TRY(memory_alloc(1, sizeof(ContainerFile), &block));
    OWN(ContainerFile, file) = block;
    file->output = output;
    file->memory = memory;
    TRY(memory_alloc(TABLE_SIZE_MIN, sizeof *file->table, &block));
    file->table = block;
    file->table_size = TABLE_SIZE_MIN;
    /* a place holder until the end: without the magic number the file is no container */
    static const uint8_t no_header[FILE_HEADER_SIZE];
    TRY(file_append(file, no_header, sizeof no_header));
    *out = TAKE(file);
    return NULL;
}

Error *container_file_create(FileOutput *output, ByteWriter *memory, ContainerFile **out) {
    assert(!output != !memory);
    assert(output ? file_output_size(output) == 0 : memory->size == 0);
    return create(output, memory, out);
}

Error *container_file_plan_create(ContainerFile **out) { return create(NULL, NULL, out); }

void container_file_release(ContainerFile *file) {
    if (!file) return;
    memory_free(file->entries);
    memory_free(file->table);
    memory_free(file);
}

/* The place of the hash in the table, or the free place where it belongs. */
static uint32_t *table_place(const ContainerFile *file, const Digest *hash) {
    size_t place = (size_t)digest_xxh3(hash->bytes, DIGEST_SIZE) & (file->table_size - 1);
    while (
        file->table[place] && !digest_equal(&file->entries[file->table[place] - 1].ref.hash, hash))
        place = (place + 1) & (file->table_size - 1);
    return &file->table[place];
}

static Error *table_grow(ContainerFile *file) {
    void *block = NULL;
    TRY(memory_alloc(2 * file->table_size, sizeof *file->table, &block));
    memory_free(file->table);
    file->table = block;
    file->table_size *= 2;
    for (size_t i = 0; i < file->entry_count; i++)
        *table_place(file, &file->entries[i].ref.hash) = (uint32_t)i + 1;
    return NULL;
}

static Error *file_sink_find(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    for (size_t i = 0; i < count; i++) out_found[i] = *table_place(self, &refs[i].hash) != 0;
    return NULL;
}

static Error *file_sink_put(
    void *self, const ChunkRef *ref, const void *stored, size_t stored_size) {
    ContainerFile *file = self;
    if (*table_place(file, &ref->hash)) return NULL; /* same name, same content */
    if (file->entry_count >= UINT32_MAX - 1 || stored_size > CHUNK_STORED_SIZE_MAX)
        FAIL(INVALID, "chunk %zu of %zu bytes does not fit into a container file",
            file->entry_count, stored_size);
    if (2 * (file->entry_count + 1) > file->table_size) TRY(table_grow(file));
    void *entries = file->entries;
    TRY(memory_grow(&entries, file->entry_count, &file->entry_capacity, sizeof *file->entries));
    file->entries = entries;
    IndexEntry entry = {*ref, (uint32_t)stored_size, file->size};
    TRY(file_append(file, stored, stored_size));
    file->entries[file->entry_count++] = entry;
    *table_place(file, &ref->hash) = (uint32_t)file->entry_count;
    return NULL;
}

Error *container_file_plan_add(ContainerFile *file, const ChunkRef *ref, size_t stored_size) {
    assert(!file->output && !file->memory);
    return file_sink_put(file, ref, NULL, stored_size);
}

size_t container_file_plan_count(const ContainerFile *file) { return file->entry_count; }

ChunkRef container_file_plan_get(
    const ContainerFile *file, size_t index, uint32_t *out_stored_size) {
    assert(index < file->entry_count);
    *out_stored_size = file->entries[index].stored_size;
    return file->entries[index].ref;
}

ChunkSink container_file_get_sink(ContainerFile *file) {
    return (ChunkSink){file_sink_find, file_sink_put, file};
}

/* Checks that a reader would accept the file. */
static Error *check_complete(ContainerFile *file, const void *manifest, size_t manifest_size) {
    OWN(Container, container) = NULL;
    TRY(container_open_manifest(
        CONTAINER_ANY, manifest, manifest_size, (ChunkSource){0}, &container));
    for (uint32_t i = 0; i < container->bulk_count; i++)
        for (size_t c = 0; c < container->bulks[i].chunk_count; c++)
            if (!*table_place(file, &container->bulks[i].refs[c].hash))
                FAIL(INVALID, "chunk %zu of bulk data %u was not put into the file", c, i);
    return NULL;
}

static Error *write_index(ContainerFile *file) {
    ByteWriter OWN_BYTES(index) = {0};
    for (size_t i = 0; i < file->entry_count; i++) {
        byte_write_bytes(&index, file->entries[i].ref.hash.bytes, DIGEST_SIZE);
        byte_write_u32(&index, file->entries[i].ref.raw_size);
        byte_write_u32(&index, file->entries[i].stored_size);
    }
    TRY(byte_writer_check(&index));
    byte_write_u64(&index, digest_xxh3(index.data, index.size));
    TRY(byte_writer_check(&index));
    return file_append(file, index.data, index.size);
}

static Error *make_header(
    const ContainerFile *file, ContainerKind kind, uint64_t index_offset, ByteWriter *out) {
    byte_write_bytes(out, container_file_magic(kind), MAGIC_SIZE);
    byte_write_u32(out, CONTAINER_VERSION);
    byte_write_u32(out, 0);
    byte_write_u64(out, file->entry_count);
    byte_write_u64(out, index_offset);
    byte_write_u64(out, file->size);
    TRY(byte_writer_check(out));
    byte_write_u64(out, digest_xxh3(out->data, out->size));
    TRY(byte_writer_check(out));
    assert(out->size == FILE_HEADER_SIZE);
    return NULL;
}

/* Writes everything behind the chunks. */
static Error *write_end(
    ContainerFile *file, const void *manifest, size_t manifest_size, ByteWriter *out_header) {
    ByteWriter OWN_BYTES(packed) = {0};
    TRY(check_complete(file, manifest, manifest_size));
    bool is_executable =
        memcmp(manifest, container_manifest_magic(CONTAINER_EXECUTABLE), MAGIC_SIZE) == 0;
    uint64_t index_offset = file->size;
    TRY(write_index(file));
    TRY(container_pack_manifest(manifest, manifest_size, &packed));
    TRY(file_append(file, packed.data, packed.size));
    return make_header(file, is_executable ? CONTAINER_EXECUTABLE : CONTAINER_CHECKPOINT,
        index_offset, out_header);
}

Error *container_file_finish(ContainerFile *file, const void *manifest, size_t manifest_size) {
    ByteWriter OWN_BYTES(header) = {0};
    TRY(write_end(file, manifest, manifest_size, &header));
    if (file->output) return file_output_write_at(file->output, 0, header.data, header.size);
    memcpy(file->memory->data, header.data, header.size);
    return NULL;
}

Error *container_file_plan_finish(ContainerFile *file, const void *manifest, size_t manifest_size,
    ByteWriter *out_head, ByteWriter *out_tail) {
    assert(!file->output && !file->memory);
    file->memory = out_tail;
    Error *error = write_end(file, manifest, manifest_size, out_head);
    file->memory = NULL;
    return error;
}
