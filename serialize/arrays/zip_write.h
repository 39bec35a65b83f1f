#pragma once
/* The records of a zip file that is written: members are stored, never deflated, and zip64 comes
 * where sizes want it. */
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
    NameMap *names;      /* for a look at a name */
    uint64_t zip64_from; /* sizes and offsets of this many bytes need zip64 */
    /* Checksums are written behind the members' bytes: nobody knows them before. */
    bool described;
} ZipEntries;

void zip_entries_deinit(ZipEntries *entries);
/* Adds a member named NAME.npy; its checksum and size may be set until the end. The entry is
 * borrowed until the next one is added. Errors: INVALID a name that was added before. */
MUST_CHECK Error *zip_entries_add(
    ZipEntries *entries, const char *name, uint64_t offset, ZipEntry **out_entry);

/* Of the same length each time. */
MUST_CHECK Error *zip_write_local(
    const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out);
/* What stands behind the bytes of a described member. */
MUST_CHECK Error *zip_write_descriptor(
    const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out);
/* The directory. offset: where it stands. */
MUST_CHECK Error *zip_write_directory(const ZipEntries *entries, uint64_t offset, ByteWriter *out);
