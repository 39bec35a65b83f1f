#include "serialize/container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "serialize/container/container_internal.h"

enum { OPTIONAL = 1, REQUIRED = 0 };

static const SectionInfo section_infos[] = {
#define SECTION(number, kind, name, text, flag, meaning)                                           \
    {number, CONTAINER_##kind, text, (flag) == OPTIONAL},
#include "serialize/container/sections.def"
#undef SECTION
};

const SectionInfo *container_find_section_info(ContainerKind kind, uint32_t number) {
    for (size_t i = 0; i < sizeof section_infos / sizeof *section_infos; i++) {
        const SectionInfo *info = &section_infos[i];
        if (info->number == number && (info->kind == kind || info->kind == CONTAINER_ANY))
            return info;
    }
    return NULL;
}

const char *container_kind_name(ContainerKind kind) {
    return kind == CONTAINER_EXECUTABLE   ? "an executable"
           : kind == CONTAINER_CHECKPOINT ? "a checkpoint"
                                          : "an executable or checkpoint";
}

const uint8_t *container_manifest_magic(ContainerKind kind) {
    return (const uint8_t *)(kind == CONTAINER_EXECUTABLE ? "LVXmani" : "LVCmani");
}

/* Like PNG's: a byte above 127, both kinds of line end and an end-of-file mark show a file that was
 * sent as text. */
const uint8_t *container_file_magic(ContainerKind kind) {
    return (
        const uint8_t *)(kind == CONTAINER_EXECUTABLE ? "\x89LVX\r\n\x1a\n" : "\x89LVC\r\n\x1a\n");
}

bool container_chunk_size_is_valid(uint32_t chunk_size) {
    return chunk_size == CHUNK_SIZE || chunk_size == CHUNK_APPEND_SIZE;
}

ContainerKind container_probe(const void *data, size_t size) {
    for (int kind = CONTAINER_EXECUTABLE; kind <= CONTAINER_CHECKPOINT; kind++)
        if (size >= MAGIC_SIZE &&
            memcmp(data, container_file_magic((ContainerKind)kind), MAGIC_SIZE) == 0)
            return (ContainerKind)kind;
    return CONTAINER_ANY;
}

static Error *container_create(Container **out) {
    void *memory = NULL;
    TRY(memory_alloc(1, sizeof(Container), &memory));
    *out = memory;
    (*out)->input.descriptor = -1;
    return NULL;
}

void container_release(Container *container) {
    if (!container) return;
    container_input_deinit(&container->input);
    memory_free(container->manifest);
    memory_free(container->sections);
    memory_free(container->section_offsets);
    memory_free(container->bulks);
    memory_free(container->refs);
    memory_free(container);
}

Error *container_open_manifest(
    ContainerKind kind, const void *manifest, size_t size, ChunkSource source, Container **out) {
    OWN(Container, container) = NULL;
    TRY(container_create(&container));
    TRY_WRAP(container_parse_manifest(container, kind, manifest, size), "manifest");
    container->source = source;
    *out = TAKE(container);
    return NULL;
}

Error *container_open_memory(ContainerKind kind, const void *data, size_t size, Container **out) {
    OWN(Container, container) = NULL;
    TRY(container_create(&container));
    container->input.data = data;
    container->input.size = size;
    TRY(container_parse_file(container, kind));
    *out = TAKE(container);
    return NULL;
}

static Error *open_input(const char *path, ContainerInput *input) {
    input->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input->descriptor < 0) {
        if (errno == ENOENT || errno == ENOTDIR) FAIL(NOT_FOUND, "no file %s", path);
        FAIL(IO, "cannot open %s: %s", path, strerror(errno));
    }
    struct stat status;
    if (fstat(input->descriptor, &status) != 0)
        FAIL(IO, "cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "%s is not a regular file", path);
    input->size = (uint64_t)status.st_size;
    return NULL;
}

/* name: the file's name in errors about its content; NULL: none. */
static Error *open_file(ContainerKind kind, const char *path, const char *name, Container **out) {
    OWN(Container, container) = NULL;
    TRY(container_create(&container));
    TRY(open_input(path, &container->input));
    Error *error = container_parse_file(container, kind);
    if (error) return name ? error_wrap(error, "%s", name) : error;
    *out = TAKE(container);
    return NULL;
}

Error *container_open_path(ContainerKind kind, const char *path, Container **out) {
    return open_file(kind, path, path, out);
}

Error *container_open_upload(ContainerKind kind, const char *path, Container **out) {
    return open_file(kind, path, NULL, out);
}

ContainerKind container_get_kind(const Container *container) { return container->kind; }

const Digest *container_get_identity(const Container *container) { return &container->identity; }

Error *container_check_identity(const Container *container, const Digest *expected) {
    if (digest_equal(&container->identity, expected)) return NULL;
    char is[DIGEST_TEXT_SIZE], wanted[DIGEST_TEXT_SIZE];
    digest_print(&container->identity, is);
    digest_print(expected, wanted);
    FAIL(CORRUPT, "%s with the identity %.12s instead of %.12s",
        container_kind_name(container->kind), is, wanted);
}

ByteReader container_get_manifest(const Container *container) {
    return byte_reader(container->manifest, container->manifest_size);
}

ChunkSource container_get_source(const Container *container) { return container->source; }

size_t container_section_count(const Container *container) { return container->section_count; }

ContainerSection container_get_section_info(const Container *container, size_t index) {
    return container->sections[index];
}

static bool find_section(const Container *container, SectionNumber number, size_t *out_index) {
    for (size_t i = 0; i < container->section_count; i++)
        if (container->sections[i].number == (uint32_t)number) {
            *out_index = i;
            return true;
        }
    return false;
}

bool container_has_section(const Container *container, SectionNumber number) {
    size_t index;
    return find_section(container, number, &index);
}

Error *container_get_section(const Container *container, SectionNumber number, ByteReader *out) {
    size_t index = 0;
    if (!find_section(container, number, &index)) {
        const SectionInfo *info = container_find_section_info(container->kind, number);
        FAIL(CORRUPT, "section %s is missing", info ? info->name : "unknown");
    }
    *out = byte_reader(container->manifest + container->section_offsets[index],
        (size_t)container->sections[index].size);
    return NULL;
}

uint32_t container_bulk_count(const Container *container) { return container->bulk_count; }

Error *container_get_bulk(const Container *container, uint32_t index, ContainerBulk *out) {
    if (index >= container->bulk_count)
        FAIL(CORRUPT, "bulk data %u of %u", index, container->bulk_count);
    *out = container->bulks[index];
    return NULL;
}

const ChunkRef *container_get_refs(const Container *container, size_t *out_count) {
    *out_count = container->ref_count;
    return container->refs;
}

uint64_t container_bulk_size_total(const Container *container) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < container->bulk_count; i++) {
        uint64_t left = UINT64_MAX - total;
        total += container->bulks[i].size < left ? container->bulks[i].size : left;
    }
    return total;
}

Error *container_read_bulks(const Container *container, const BulkRead *reads, size_t count,
    WorkerPool *pool, ChunkVerify verify) {
    if (count > 0 && !container->source.get)
        FAIL(INTERNAL, "bulk data of a container without chunks");
    void *memory = NULL;
    TRY(memory_alloc(count, sizeof(ChunkRun), &memory));
    ChunkRun *runs = memory;
    Error *error = NULL;
    for (size_t i = 0; i < count && !error; i++) {
        ContainerBulk bulk = {0};
        error = container_get_bulk(container, reads[i].index, &bulk);
        runs[i] = (ChunkRun){bulk.refs, bulk.chunk_count, reads[i].out_data};
    }
    if (!error)
        error =
            error_wrap(chunk_read_data(pool, runs, count, verify, container->source), "bulk data");
    memory_free(memory);
    return error;
}
