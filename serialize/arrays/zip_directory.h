#pragma once
/* The table of contents of a zip file in memory, checked: every member lies inside the file, no two
 * overlap, local and central headers agree. Reads stored and deflated members, and zip64. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

typedef struct ZipMember {
    const char *name; /* not NUL-terminated; UTF-8 without NUL */
    uint16_t name_size;
    uint16_t method; /* ZIP_STORED or ZIP_DEFLATED */
    uint32_t crc32;
    uint64_t stored_size; /* of data */
    uint64_t size;        /* unpacked; at most 1032 times stored_size, which is deflate's best */
    uint64_t offset;      /* of the local header */
    const uint8_t *data;
} ZipMember;

typedef struct ZipDirectory {
    ZipMember *members; /* in the directory's order */
    size_t count;
} ZipDirectory;

void zip_directory_deinit(ZipDirectory *directory);
/* data: the whole file, borrowed as long as the directory.
 *
 * Errors: CORRUPT; UNSUPPORTED encrypted members, other methods, several disks. */
MUST_CHECK Error *zip_directory_read(const void *data, size_t size, ZipDirectory *out);
/* Checks the CRC of a stored member, whose data are its content. */
MUST_CHECK Error *zip_member_check(const ZipMember *member);
/* Unpacks a member into out, which has room for its size, and checks its CRC. */
MUST_CHECK Error *zip_member_read(const ZipMember *member, uint8_t *out);
