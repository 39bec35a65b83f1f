#pragma once
/* The common form of executables and checkpoints: small checksummed sections, and bulk data in
 * separate chunks. Callers: serialize/checkpoint, store/, scheduler/jobs, scheduler/node,
 * tools/client.
 * Threads: a writer one at a time; an open container may be read by several threads.
 *
 *      manifest         header, section table, sections; the section bulk lists all chunks
 *      in the store     the manifest in a row, each chunk in a row
 *      .lvx, .lvc file  header, stored chunks, chunk index, manifest
 *
 * The identity of an executable or checkpoint is the SHA-256 of its manifest. The manifest has one
 * canonical form, which depends on the content alone, not on how or where chunks are stored.
 *
 * Stored as: docs/formats.md#manifest, docs/formats.md#container-file */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/worker_pool.h"
#include "serialize/chunk/chunk.h"

typedef enum ContainerKind {
    CONTAINER_ANY = 0, /* readers: either kind */
    CONTAINER_EXECUTABLE = 1,
    CONTAINER_CHECKPOINT = 2,
} ContainerKind;

/* Section numbers: SECTION_GLOBALS = 16 … */
typedef enum SectionNumber {
#define SECTION(number, kind, name, text, flag, meaning) SECTION_##name = number,
#include "serialize/container/sections.def"
#undef SECTION
} SectionNumber;

enum {
    CONTAINER_VERSION = 1,
    CONTAINER_SECTIONS_MAX = 256,
    CONTAINER_BULKS_MAX = 1 << 24,
};
/* Largest manifest: sections and 32 bytes for each MiB of bulk data. */
#define CONTAINER_MANIFEST_SIZE_MAX ((uint64_t)1 << 30)

/* ---- Writing: sections and bulk data in any order, then finish. ---- */
typedef struct ContainerWriter ContainerWriter;

/* Makes a writer. pool: encodes chunks (NULL: the calling thread). sink: takes them. Both outlive
 * the writer. */
MUST_CHECK Error *container_writer_create(
    ContainerKind kind, WorkerPool *pool, ChunkSink sink, ContainerWriter **out);
void container_writer_release(ContainerWriter *writer);
DEFINE_OWN(ContainerWriter, container_writer_release);

/* Adds a section and copies its bytes. Each section of the kind at most once, never BULK. */
MUST_CHECK Error *container_writer_add_section(
    ContainerWriter *writer, SectionNumber number, const void *data, size_t size);
/* Adds a section from a ByteWriter, or returns the ByteWriter's failure. */
MUST_CHECK Error *container_writer_add_written(
    ContainerWriter *writer, SectionNumber number, const ByteWriter *written);

/* Adds bulk data: puts its chunks into the sink. Sections refer to the data by *out_index (0, 1, 2
 * …).
 *
 * chunk_size: CHUNK_SIZE or CHUNK_APPEND_SIZE.
 * Errors:     whatever the sink returns. */
MUST_CHECK Error *container_writer_add_bulk(ContainerWriter *writer, const void *data,
    uint64_t size, uint32_t chunk_size, ChunkFilter filter, KnownChunks known, uint32_t *out_index);
/* Adds bulk data whose chunks of CHUNK_SIZE container_writer_finish puts into the sink, together
 * with those of other such data: that keeps every thread busy even with many small data. The data
 * stays unchanged until then. */
MUST_CHECK Error *container_writer_add_bulk_later(ContainerWriter *writer, const void *data,
    uint64_t size, ChunkFilter filter, uint32_t *out_index);
/* Adds bulk data that comes chunk by chunk. The sink has the known chunks, and the reader begins
 * behind them. */
MUST_CHECK Error *container_writer_add_bulk_read(ContainerWriter *writer, RawChunks reader,
    uint64_t size, uint32_t chunk_size, ChunkFilter filter, KnownChunks known, uint32_t *out_index);
/* Adds bulk data whose chunks the sink has or gets from elsewhere; nothing is hashed or encoded. */
MUST_CHECK Error *container_writer_add_bulk_refs(ContainerWriter *writer, const ChunkRef *refs,
    uint64_t size, uint32_t chunk_size, uint32_t *out_index);
/* Returns the chunk_count(size, chunk_size) references of bulk data; valid until the next add. */
/* Not for bulk data that is added later. */
const ChunkRef *container_writer_get_refs(const ContainerWriter *writer, uint32_t index);

/* Puts the chunks of data that were added for later, and finishes the manifest. out_manifest must
 * be empty. The writer can then only be released. Errors: whatever the sink returns. */
MUST_CHECK Error *container_writer_finish(
    ContainerWriter *writer, ByteWriter *out_manifest, Digest *out_identity);

/* Packs a manifest for keeping: compressed if that saves room. container_open_manifest takes both
 * forms. */
MUST_CHECK Error *container_pack_manifest(
    const void *manifest, size_t manifest_size, ByteWriter *out_packed);

/* ---- Files: the chunks of a sink and a manifest in one file. ---- */
typedef struct ContainerFile ContainerFile;

/* Begins a file in exactly one of output and memory, from its offset 0. Both must outlive the file;
 * the caller commits them. */
MUST_CHECK Error *container_file_create(
    FileOutput *output, ByteWriter *memory, ContainerFile **out);
void container_file_release(ContainerFile *file);
DEFINE_OWN(ContainerFile, container_file_release);
/* Returns a sink that writes each chunk once. Valid as long as the file. */
ChunkSink container_file_get_sink(ContainerFile *file);
/* Writes the chunk index, the manifest (compressed if that saves room) and at last the header.
 *
 * Errors: INVALID the manifest refers to a chunk that was not put (checked for bulk data of this
 *         manifest). */
MUST_CHECK Error *container_file_finish(
    ContainerFile *file, const void *manifest, size_t manifest_size);

/* Plans a file without a place to write it: first which chunks it will have and the stored size of
 * each; then its first bytes (out_head), the chunks in that order, and its last bytes (out_tail).
 */
MUST_CHECK Error *container_file_plan_create(ContainerFile **out);
/* Adds a chunk to the plan. A chunk that is already planned changes nothing. */
MUST_CHECK Error *container_file_plan_add(
    ContainerFile *file, const ChunkRef *ref, size_t stored_size);
size_t container_file_plan_count(const ContainerFile *file);
ChunkRef container_file_plan_get(
    const ContainerFile *file, size_t index, uint32_t *out_stored_size);
/* Finishes the plan; called once. Errors: as container_file_finish. */
MUST_CHECK Error *container_file_plan_finish(ContainerFile *file, const void *manifest,
    size_t manifest_size, ByteWriter *out_head, ByteWriter *out_tail);

/* ---- Reading: everything is checked here except the content of sections. ---- */
typedef struct Container Container;

typedef struct ContainerSection {
    uint32_t number;
    bool optional;
    const char *name; /* "unknown" for numbers that this version does not know */
    uint64_t size;
} ContainerSection;

typedef struct ContainerBulk {
    uint64_t size;
    uint32_t chunk_size;
    size_t chunk_count;
    const ChunkRef *refs; /* owned by the container */
} ContainerBulk;

/* Opens a manifest.
 *
 * kind:     the expected kind. manifest: packed or not; copied.
 * source:   outlives the container; get NULL: bulk data can only be listed, not read.
 *
 * Errors: CORRUPT; UNSUPPORTED another format version, an unknown section that is not optional. */
MUST_CHECK Error *container_open_manifest(
    ContainerKind kind, const void *manifest, size_t size, ChunkSource source, Container **out);
/* Opens a file in memory, which must outlive the container. */
MUST_CHECK Error *container_open_memory(
    ContainerKind kind, const void *data, size_t size, Container **out);
/* Opens a file and keeps it open as long as the container; chunks are read when they are needed.
 *
 * Errors: as container_open_manifest; NOT_FOUND; IO. */
MUST_CHECK Error *container_open_path(ContainerKind kind, const char *path, Container **out);
/* Opens an uploaded file like container_open_path. Messages about its content do not contain the
 * path, which is the server's. */
MUST_CHECK Error *container_open_upload(ContainerKind kind, const char *path, Container **out);
void container_release(Container *container);
DEFINE_OWN(Container, container_release);

/* Returns the kind of file that data starts like; CONTAINER_ANY for none. 8 bytes suffice. */
ContainerKind container_probe(const void *data, size_t size);

ContainerKind container_get_kind(const Container *container);
const Digest *container_get_identity(const Container *container);
/* Compares the identity. Errors: CORRUPT the identity is not the expected one. */
MUST_CHECK Error *container_check_identity(const Container *container, const Digest *expected);
/* Returns the manifest's bytes, which the store keeps. The container owns them. */
ByteReader container_get_manifest(const Container *container);
/* Returns the source of the chunks, for copying them elsewhere. */
ChunkSource container_get_source(const Container *container);

size_t container_section_count(const Container *container);
ContainerSection container_get_section_info(const Container *container, size_t index);
bool container_has_section(const Container *container, SectionNumber number);
/* Returns a reader of the section's bytes, which live as long as the container. Errors: CORRUPT the
 * section is missing. */
MUST_CHECK Error *container_get_section(
    const Container *container, SectionNumber number, ByteReader *out);

uint32_t container_bulk_count(const Container *container);
/* Finds bulk data. Errors: CORRUPT index out of range (indices come from untrusted sections). */
MUST_CHECK Error *container_get_bulk(
    const Container *container, uint32_t index, ContainerBulk *out);
/* Returns the chunks of all bulk data in order; a chunk may stand more than once. The container
 * owns them. */
const ChunkRef *container_get_refs(const Container *container, size_t *out_count);
/* Returns the size of all bulk data, saturating. Callers compare it with a quota before they
 * allocate. */
uint64_t container_bulk_size_total(const Container *container);
/* The destination of bulk data; out_data has room for its size. */
typedef struct BulkRead {
    uint32_t index;
    void *out_data;
} BulkRead;

/* Reads bulk data on the pool's threads at once (NULL: here).
 *
 * Errors: CORRUPT; NOT_FOUND a chunk is missing; IO. out_data is then undefined.
 * Threads: any. */
MUST_CHECK Error *container_read_bulks(const Container *container, const BulkRead *reads,
    size_t count, WorkerPool *pool, ChunkVerify verify);

/* Copies every chunk of the bulk data that the sink lacks, in stored form: export, import.
 *
 * verify: how each copied chunk is checked before it is put; SHA256 when it comes from outside.
 * Errors: as container_read_bulks; whatever the sink returns. */
MUST_CHECK Error *container_copy_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink);

/* Checks the chunks of a container's file that the sink has, each once. These chunks are not
 * copied, so damage to them would stay unnoticed. Errors: as container_read_bulks; whatever the
 * sink returns. */
MUST_CHECK Error *container_check_known_chunks(
    const Container *container, WorkerPool *pool, ChunkVerify verify, ChunkSink sink);
