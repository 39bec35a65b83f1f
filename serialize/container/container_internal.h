#pragma once
/* The layout of manifests and container files, for container_parse.c, container_file.c,
 * container_copy.c and container_writer.c. Threads: as container.h.
 *
 *  manifest                                   container file
 *      0   8  magic                               0   8  magic
 *      8   4  version                             8   4  version
 *     12   4  section count n                    12   4  0
 *     16 24n  for each section                   16   8  chunk count n
 *               0  4  number, ascending          24   8  offset of the chunk index
 *               4  4  flags; 1: optional         32   8  size of the file
 *               8  8  size                       40   8  XXH3-64 of bytes 0 to 39
 *              16  8  XXH3-64 of its bytes       48      stored chunks, one after the other
 *      …   8  XXH3-64 of all before               …      for each chunk, in that order (the index)
 *      …      the sections, one after the other            0 32  SHA-256 of its raw bytes
 *                                                         32  4  raw size
 *  section bulk                                           36  4  stored size
 *      0   4  count                               …   8  XXH3-64 of the index
 *      …      for each                            …      packed manifest, up to the end
 *               0  8  size
 *               8  4  chunk size
 *              12     32 bytes of SHA-256 for each chunk */
#include "base/file.h"
#include "serialize/container/container.h"

/* In front of a packed manifest: this text, and the XXH3-64 of the zstd frame behind it, since zstd
 * accepts some changed bits. */
#define PACKED_MAGIC "LVXpack"

enum {
    MAGIC_SIZE = 8,
    PACKED_HEADER_SIZE = 16,
    MANIFEST_HEADER_SIZE = 16,
    MANIFEST_ENTRY_SIZE = 24,
    CHECKSUM_SIZE = 8,
    SECTION_FLAG_OPTIONAL = 1,
    BULK_HEADER_SIZE = 12,
    FILE_HEADER_SIZE = 48,
    FILE_HEADER_CHECKED_SIZE = 40,
    INDEX_ENTRY_SIZE = DIGEST_SIZE + 8,
    /* A packed manifest unpacks to at most PACK_RATIO_MAX times its size plus PACK_SLACK, so that a
     * few bytes from outside cannot demand a gigabyte. A manifest that compresses better is kept
     * unpacked. */
    PACK_RATIO_MAX = 256,
    PACK_SLACK = 64 << 10,
};

typedef struct SectionInfo {
    uint32_t number;
    ContainerKind kind;
    const char *name;
    bool optional;
} SectionInfo;

/* Returns NULL for numbers that the kind does not have. */
const SectionInfo *container_find_section_info(ContainerKind kind, uint32_t number);
/* The kind's name with its article: "an executable". */
const char *container_kind_name(ContainerKind kind);
const uint8_t *container_manifest_magic(ContainerKind kind);
const uint8_t *container_file_magic(ContainerKind kind);
bool container_chunk_size_is_valid(uint32_t chunk_size);

/* A chunk in a container file. */
typedef struct IndexEntry {
    ChunkRef ref;
    uint32_t stored_size;
    uint64_t offset;
} IndexEntry;

/* The file that a container was opened from: in memory or a descriptor. */
typedef struct ContainerInput {
    const uint8_t *data; /* NULL: the file is read from the descriptor */
    int descriptor;
    uint64_t size;
    IndexEntry *index; /* ascending by hash */
    size_t index_count;
} ContainerInput;

struct Container {
    ContainerKind kind;
    Digest identity;
    uint8_t *manifest; /* unpacked */
    size_t manifest_size;
    ContainerSection *sections;
    size_t *section_offsets; /* in the manifest */
    size_t section_count;
    ContainerBulk *bulks;
    uint32_t bulk_count;
    ChunkRef *refs; /* of all bulk data, in its order */
    size_t ref_count;
    ChunkSource source;
    ContainerInput input;
};

/* Checks a manifest, packed or not, and fills the container from it. */
MUST_CHECK Error *container_parse_manifest(
    Container *container, ContainerKind kind, const void *manifest, size_t size);
/* Opens container->input: header, index, manifest. */
MUST_CHECK Error *container_parse_file(Container *container, ContainerKind kind);
void container_input_deinit(ContainerInput *input);
