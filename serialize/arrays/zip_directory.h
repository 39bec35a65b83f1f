#pragma once
/* Reads and checks the directory of a zip file in memory: every member lies inside the file,
 * members do not overlap, local and central headers agree. Supports stored and deflated members,
 * and zip64. Callers: the npz files of this folder. Threads: any; the data does not change. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "serialize/arrays/zip_member.h"

typedef struct ZipDirectory {
    ZipMember *members; /* in the directory's order */
    size_t count;
} ZipDirectory;

void zip_directory_deinit(ZipDirectory *directory);
/* Reads a directory. data: the whole file, which must outlive the directory.
 *
 * Errors: CORRUPT; UNSUPPORTED encrypted members, other methods, several disks. */
MUST_CHECK Error *zip_directory_read(const void *data, size_t size, ZipDirectory *out);
/* Checks the CRC of a stored member, whose data is its content. */
MUST_CHECK Error *zip_member_check(const ZipMember *member);
/* Unpacks a member into out, which has room for its size, and checks its CRC. */
MUST_CHECK Error *zip_member_read(const ZipMember *member, uint8_t *out);
