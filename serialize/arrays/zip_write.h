#pragma once
/* Writes the records of a zip file. Members are stored, never deflated; zip64 is used when sizes
 * need it. Callers: npz_write.c, npz_pieces.c. Threads: one at a time per set of entries. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/name_map.h"

typedef struct ZipEntry {
    char *file_name; /* NAME.npy */
    uint32_t crc32;
    uint64_t size;
    uint64_t offset; /* of its local header, from the file's start */
} ZipEntry;

/* The members so far, in the order of the file. */
typedef struct ZipEntries {
    ZipEntry *items;
    size_t count, capacity;
    NameMap *names;      /* finds names that are in use */
    uint64_t zip64_from; /* sizes and offsets of this many bytes need zip64 */
    /* Checksums stand behind the members' bytes, since they are unknown before. */
    bool described;
} ZipEntries;

void zip_entries_deinit(ZipEntries *entries);
/* Adds a member named NAME.npy; its checksum and size may be set until the end. The entry stays
 * valid until the next one is added. Errors: INVALID a name that was added before. */
MUST_CHECK Error *zip_entries_add(
    ZipEntries *entries, const char *name, uint64_t offset, ZipEntry **out_entry);

/* Writes a local header. Its length never changes for the same entry. */
MUST_CHECK Error *zip_write_local(
    const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out);
/* Writes the data descriptor behind the bytes of a described member. */
MUST_CHECK Error *zip_write_descriptor(
    const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out);
/* Writes the directory. offset: its place in the file. */
MUST_CHECK Error *zip_write_directory(const ZipEntries *entries, uint64_t offset, ByteWriter *out);
