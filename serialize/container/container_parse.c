#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "serialize/chunk/codec_context.h"
#include "serialize/container/container_internal.h"

/* ---- manifest ---- */

/* Finds the frame of a packed manifest. *out_packed false: the manifest is not packed. */
static Error *find_frame(
    const void *manifest, size_t size, bool *out_packed, ByteReader *out_frame) {
    uint64_t checksum;
    *out_packed = size >= MAGIC_SIZE && memcmp(manifest, PACKED_MAGIC, MAGIC_SIZE) == 0;
    if (!*out_packed) return NULL;
    ByteReader reader = byte_reader((const uint8_t *)manifest + MAGIC_SIZE, size - MAGIC_SIZE);
    TRY(byte_read_u64(&reader, &checksum));
    *out_frame = byte_reader(reader.data + reader.position, byte_reader_left(&reader));
    if (digest_xxh3(out_frame->data, out_frame->size) != checksum)
        FAIL(CORRUPT, "the checksum of the packed manifest is wrong");
    return NULL;
}

/* Sets container->manifest to a copy of the raw manifest. */
static Error *unpack_manifest(Container *container, const void *manifest, size_t size) {
    uint64_t raw_size = size;
    bool is_packed;
    ByteReader frame;
    TRY(find_frame(manifest, size, &is_packed, &frame));
    if (is_packed) {
        TRY(codec_frame_size(frame.data, frame.size, &raw_size));
        if (size < CONTAINER_MANIFEST_SIZE_MAX &&
            raw_size > (uint64_t)frame.size * PACK_RATIO_MAX + PACK_SLACK)
            FAIL(CORRUPT, "%zu bytes that unpack to %llu", size, (unsigned long long)raw_size);
    }
    if (raw_size > CONTAINER_MANIFEST_SIZE_MAX)
        FAIL(CORRUPT, "%llu bytes, at most %llu are taken", (unsigned long long)raw_size,
            (unsigned long long)CONTAINER_MANIFEST_SIZE_MAX);
    void *memory = NULL;
    TRY(memory_alloc((size_t)raw_size, 1, &memory));
    container->manifest = memory;
    container->manifest_size = (size_t)raw_size;
    if (!is_packed) {
        if (size > 0) memcpy(memory, manifest, size);
        return NULL;
    }
    CodecContext *context = NULL;
    TRY(codec_context_get(&context));
    return codec_decompress(context, frame.data, frame.size, memory, (size_t)raw_size);
}

static Error *read_kind(ByteReader *reader, ContainerKind wanted, ContainerKind *out) {
    const uint8_t *magic = NULL;
    TRY(byte_read_view(reader, MAGIC_SIZE, &magic));
    for (int kind = CONTAINER_EXECUTABLE; kind <= CONTAINER_CHECKPOINT; kind++) {
        if (memcmp(magic, container_manifest_magic((ContainerKind)kind), MAGIC_SIZE) != 0) continue;
        if (wanted != CONTAINER_ANY && (int)wanted != kind)
            FAIL(INVALID, "that of %s, not of %s", container_kind_name((ContainerKind)kind),
                container_kind_name(wanted));
        *out = (ContainerKind)kind;
        return NULL;
    }
    FAIL(CORRUPT, "not that of %s", container_kind_name(wanted));
}

static Error *read_section_entry(ByteReader *reader, ContainerKind kind, uint32_t number_min,
    ContainerSection *out, uint64_t *out_checksum) {
    ContainerSection section = {0};
    uint32_t flags = 0;
    TRY(byte_read_u32(reader, &section.number));
    TRY(byte_read_u32(reader, &flags));
    TRY(byte_read_u64(reader, &section.size));
    TRY(byte_read_u64(reader, out_checksum));
    if (section.number < number_min) FAIL(CORRUPT, "section %u is out of order", section.number);
    if (flags > SECTION_FLAG_OPTIONAL)
        FAIL(CORRUPT, "section %u has unknown flags %#x", section.number, flags);
    section.optional = flags & SECTION_FLAG_OPTIONAL;
    const SectionInfo *info = container_find_section_info(kind, section.number);
    if (!info && !section.optional)
        FAIL(UNSUPPORTED, "section %u is not known to this version and not optional",
            section.number);
    if (info && info->optional != section.optional)
        FAIL(CORRUPT, "section %s has the flags of another", info->name);
    section.name = info ? info->name : "unknown";
    *out = section;
    return NULL;
}

/* Reads the table into container->sections. The reader then stands at the first section. */
static Error *read_sections(Container *container, ByteReader *reader) {
    uint32_t count = 0;
    TRY(byte_read_count(reader, MANIFEST_ENTRY_SIZE, &count));
    if (count > CONTAINER_SECTIONS_MAX)
        FAIL(CORRUPT, "%u sections, at most %d are taken", count, CONTAINER_SECTIONS_MAX);
    ByteReader table = *reader;
    const uint8_t *entries = NULL;
    TRY(byte_read_view(reader, (size_t)count * MANIFEST_ENTRY_SIZE, &entries));
    uint64_t expected = digest_xxh3(reader->data, reader->position), checksum = 0;
    TRY(byte_read_u64(reader, &checksum));
    if (checksum != expected) FAIL(CORRUPT, "the header fails its checksum");
    void *memory = NULL;
    TRY(memory_alloc(count, sizeof *container->sections, &memory));
    container->sections = memory;
    TRY(memory_alloc(count, sizeof *container->section_offsets, &memory));
    container->section_offsets = memory;
    uint32_t number_min = 0;
    for (uint32_t i = 0; i < count; i++) {
        ContainerSection *section = &container->sections[i];
        TRY(read_section_entry(&table, container->kind, number_min, section, &checksum));
        if (section->number == UINT32_MAX) FAIL(CORRUPT, "section %u", section->number);
        number_min = section->number + 1;
        const uint8_t *bytes = NULL;
        container->section_offsets[i] = reader->position;
        TRY_WRAP(byte_read_view(reader, section->size, &bytes), "section %u (%s)", section->number,
            section->name);
        if (digest_xxh3(bytes, section->size) != checksum)
            FAIL(CORRUPT, "section %u (%s) fails its checksum", section->number, section->name);
        container->section_count++;
    }
    return byte_reader_check_end(reader);
}

static Error *read_bulk(Container *container, ByteReader *reader, uint32_t index) {
    ContainerBulk *bulk = &container->bulks[index];
    TRY(byte_read_u64(reader, &bulk->size));
    TRY(byte_read_u32(reader, &bulk->chunk_size));
    if (!container_chunk_size_is_valid(bulk->chunk_size))
        FAIL(CORRUPT, "chunks of %u bytes", bulk->chunk_size);
    bulk->chunk_count = chunk_count(bulk->size, bulk->chunk_size);
    bulk->refs = container->refs + container->ref_count;
    if (bulk->chunk_count > byte_reader_left(reader) / DIGEST_SIZE)
        FAIL(CORRUPT, "%llu bytes are announced, but not so many chunks are listed",
            (unsigned long long)bulk->size);
    for (size_t i = 0; i < bulk->chunk_count; i++) {
        const uint8_t *hash = NULL;
        TRY(byte_read_view(reader, DIGEST_SIZE, &hash));
        ChunkRef *ref = &container->refs[container->ref_count++];
        memcpy(ref->hash.bytes, hash, DIGEST_SIZE);
        ref->raw_size = chunk_raw_size(bulk->size, bulk->chunk_size, i);
    }
    return NULL;
}

static Error *read_bulks(Container *container) {
    if (!container_has_section(container, SECTION_BULK)) return NULL;
    ByteReader reader;
    TRY(container_get_section(container, SECTION_BULK, &reader));
    uint32_t count = 0;
    TRY(byte_read_count(&reader, BULK_HEADER_SIZE, &count));
    if (count == 0 || count > CONTAINER_BULKS_MAX) FAIL(CORRUPT, "%u pieces of bulk data", count);
    void *memory = NULL;
    TRY(memory_alloc(count, sizeof *container->bulks, &memory));
    container->bulks = memory;
    size_t ref_count_max = byte_reader_left(&reader) / DIGEST_SIZE;
    TRY(memory_alloc(ref_count_max, sizeof *container->refs, &memory));
    container->refs = memory;
    for (uint32_t i = 0; i < count; i++)
        TRY_WRAP(read_bulk(container, &reader, i), "bulk data %u", i);
    container->bulk_count = count;
    return byte_reader_check_end(&reader);
}

Error *container_parse_manifest(
    Container *container, ContainerKind kind, const void *manifest, size_t size) {
    TRY(unpack_manifest(container, manifest, size));
    ByteReader reader = byte_reader(container->manifest, container->manifest_size);
    TRY(read_kind(&reader, kind, &container->kind));
    uint32_t version = 0;
    TRY(byte_read_u32(&reader, &version));
    if (version != CONTAINER_VERSION)
        FAIL(UNSUPPORTED, "format version %u; this program reads version %d", version,
            CONTAINER_VERSION);
    TRY(read_sections(container, &reader));
    TRY_WRAP(read_bulks(container), "section bulk");
    return digest_sha256(container->manifest, container->manifest_size, &container->identity);
}

/* ---- file ---- */

void container_input_deinit(ContainerInput *input) {
    if (input->descriptor >= 0) (void)close(input->descriptor);
    memory_free(input->index);
}

static Error *input_read(const ContainerInput *input, uint64_t offset, void *out, size_t size) {
    if (offset > input->size || size > input->size - offset)
        FAIL(CORRUPT, "the file ends early: %zu bytes wanted at offset %llu of %llu", size,
            (unsigned long long)offset, (unsigned long long)input->size);
    if (input->data) {
        if (size > 0) memcpy(out, input->data + offset, size);
        return NULL;
    }
    for (size_t done = 0; done < size;) {
        ssize_t got =
            pread(input->descriptor, (char *)out + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) FAIL(IO, "cannot read: %s", strerror(errno));
        if (got == 0) FAIL(CORRUPT, "the file became shorter while it was read");
        done += (size_t)got;
    }
    return NULL;
}

typedef struct FileHeader {
    uint64_t chunk_count;
    uint64_t index_offset;
} FileHeader;

static Error *read_file_header(const ContainerInput *input, ContainerKind kind, FileHeader *out) {
    uint8_t bytes[FILE_HEADER_SIZE];
    if (input->size < MAGIC_SIZE) FAIL(CORRUPT, "not %s", container_kind_name(kind));
    TRY(input_read(input, 0, bytes, MAGIC_SIZE));
    ContainerKind is = container_probe(bytes, MAGIC_SIZE);
    if (is == CONTAINER_ANY) FAIL(CORRUPT, "not %s", container_kind_name(kind));
    if (kind != CONTAINER_ANY && kind != is)
        FAIL(INVALID, "%s, not %s", container_kind_name(is), container_kind_name(kind));
    TRY(input_read(input, 0, bytes, sizeof bytes));
    ByteReader reader = byte_reader(bytes, sizeof bytes);
    reader.position = MAGIC_SIZE;
    uint32_t version = 0, zero = 0;
    TRY(byte_read_u32(&reader, &version));
    if (version != CONTAINER_VERSION)
        FAIL(UNSUPPORTED, "format version %u; this program reads version %d", version,
            CONTAINER_VERSION);
    uint64_t size = 0, checksum = 0;
    TRY(byte_read_u32(&reader, &zero));
    TRY(byte_read_u64(&reader, &out->chunk_count));
    TRY(byte_read_u64(&reader, &out->index_offset));
    TRY(byte_read_u64(&reader, &size));
    TRY(byte_read_u64(&reader, &checksum));
    if (checksum != digest_xxh3(bytes, FILE_HEADER_CHECKED_SIZE) || zero != 0)
        FAIL(CORRUPT, "the file's header fails its checksum");
    if (size != input->size)
        FAIL(CORRUPT, "the file has %llu bytes instead of %llu", (unsigned long long)input->size,
            (unsigned long long)size);
    return NULL;
}

static int compare_entries(const void *a, const void *b) {
    return memcmp(((const IndexEntry *)a)->ref.hash.bytes, ((const IndexEntry *)b)->ref.hash.bytes,
        DIGEST_SIZE);
}

static const IndexEntry *index_find(const ContainerInput *input, const Digest *hash) {
    IndexEntry key = {.ref.hash = *hash};
    if (input->index_count == 0) return NULL;
    return bsearch(&key, input->index, input->index_count, sizeof *input->index, compare_entries);
}

/* bytes: the index as it is in the file. Entries tile [FILE_HEADER_SIZE, index_offset). */
static Error *parse_index(
    ContainerInput *input, const uint8_t *bytes, size_t count, uint64_t index_offset) {
    ByteReader reader = byte_reader(bytes, count * INDEX_ENTRY_SIZE + CHECKSUM_SIZE);
    uint64_t offset = FILE_HEADER_SIZE, checksum = 0;
    for (size_t i = 0; i < count; i++) {
        IndexEntry *entry = &input->index[i];
        const uint8_t *hash = NULL;
        TRY(byte_read_view(&reader, DIGEST_SIZE, &hash));
        memcpy(entry->ref.hash.bytes, hash, DIGEST_SIZE);
        TRY(byte_read_u32(&reader, &entry->ref.raw_size));
        TRY(byte_read_u32(&reader, &entry->stored_size));
        entry->offset = offset;
        if (entry->stored_size > CHUNK_STORED_SIZE_MAX ||
            entry->stored_size > index_offset - offset)
            FAIL(CORRUPT, "chunk %zu of the file has %u bytes", i, entry->stored_size);
        offset += entry->stored_size;
    }
    TRY(byte_read_u64(&reader, &checksum));
    if (checksum != digest_xxh3(bytes, count * INDEX_ENTRY_SIZE))
        FAIL(CORRUPT, "the chunk index fails its checksum");
    if (offset != index_offset)
        FAIL(CORRUPT, "%llu bytes between the chunks and their index",
            (unsigned long long)(index_offset - offset));
    input->index_count = count;
    if (count > 0) qsort(input->index, count, sizeof *input->index, compare_entries);
    for (size_t i = 1; i < count; i++)
        if (compare_entries(&input->index[i - 1], &input->index[i]) == 0)
            FAIL(CORRUPT, "a chunk stands in the file twice");
    return NULL;
}

/* out_manifest_offset: the end of the index. */
static Error *read_index(
    ContainerInput *input, const FileHeader *header, uint64_t *out_manifest_offset) {
    uint64_t offset = header->index_offset;
    if (offset < FILE_HEADER_SIZE || offset > input->size || input->size - offset < CHECKSUM_SIZE ||
        header->chunk_count > (input->size - offset - CHECKSUM_SIZE) / INDEX_ENTRY_SIZE)
        FAIL(CORRUPT, "the file ends early: no room for an index of %llu chunks at offset %llu",
            (unsigned long long)header->chunk_count, (unsigned long long)offset);
    size_t count = (size_t)header->chunk_count;
    size_t size = count * INDEX_ENTRY_SIZE + CHECKSUM_SIZE;
    void *memory = NULL;
    TRY(memory_alloc(count, sizeof *input->index, &memory));
    input->index = memory;
    TRY(memory_alloc(size, 1, &memory));
    Error *error = input_read(input, offset, memory, size);
    if (!error) error = parse_index(input, memory, count, offset);
    memory_free(memory);
    TRY(error);
    *out_manifest_offset = offset + size;
    return NULL;
}

static Error *input_source_get(void *self, const ChunkRef *ref, ByteWriter *inout_stored) {
    const ContainerInput *input = self;
    const IndexEntry *entry = index_find(input, &ref->hash);
    if (!entry || entry->ref.raw_size != ref->raw_size) {
        char name[DIGEST_TEXT_SIZE];
        digest_print(&ref->hash, name);
        FAIL(NOT_FOUND, "chunk %.12s is not in the file", name);
    }
    if (inout_stored->capacity < entry->stored_size) {
        void *data = inout_stored->data;
        TRY(memory_resize(&data, CHUNK_STORED_SIZE_MAX, 1));
        inout_stored->data = data;
        inout_stored->capacity = CHUNK_STORED_SIZE_MAX;
    }
    inout_stored->size = entry->stored_size;
    return input_read(input, entry->offset, inout_stored->data, entry->stored_size);
}

static Error *check_refs_present(const Container *container) {
    for (uint32_t i = 0; i < container->bulk_count; i++)
        for (size_t c = 0; c < container->bulks[i].chunk_count; c++) {
            const ChunkRef *ref = &container->bulks[i].refs[c];
            const IndexEntry *entry = index_find(&container->input, &ref->hash);
            if (!entry || entry->ref.raw_size != ref->raw_size)
                FAIL(CORRUPT, "chunk %zu of bulk data %u is not in the file", c, i);
        }
    return NULL;
}

Error *container_parse_file(Container *container, ContainerKind kind) {
    ContainerInput *input = &container->input;
    FileHeader header = {0};
    uint64_t manifest_offset = 0;
    TRY(read_file_header(input, kind, &header));
    TRY(read_index(input, &header, &manifest_offset));
    uint64_t size = input->size - manifest_offset;
    if (size > CONTAINER_MANIFEST_SIZE_MAX)
        FAIL(CORRUPT, "a manifest of %llu bytes", (unsigned long long)size);
    void *memory = NULL;
    TRY(memory_alloc((size_t)size, 1, &memory));
    Error *error = input_read(input, manifest_offset, memory, (size_t)size);
    if (!error) error = container_parse_manifest(container, kind, memory, (size_t)size);
    memory_free(memory);
    TRY_WRAP(error, "manifest");
    container->source = (ChunkSource){input_source_get, input};
    return check_refs_present(container);
}
