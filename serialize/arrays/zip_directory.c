#include "serialize/arrays/zip_directory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/checked.h"
#include "base/text.h"
#include "serialize/arrays/zip_internal.h"
#include "serialize/arrays/zip_stream.h"

enum { COMMENT_SIZE_MAX = 65535, DEFLATE_RATIO_MAX = 1032, DEFLATE_SLACK = 64 };

void zip_directory_deinit(ZipDirectory *directory) {
    memory_free(directory->members);
    *directory = (ZipDirectory){0};
}

static uint32_t signature_at(const uint8_t *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* The place of the directory and the number of its members. */
typedef struct DirectoryPlace {
    uint64_t count;
    uint64_t size;
    uint64_t offset;
    uint64_t end; /* the end of the directory, where its end record begins */
} DirectoryPlace;

/* The end record is the last part of the file except for a comment, whose length the record has. */
static Error *find_end(const uint8_t *data, size_t size, size_t *out) {
    if (size < ZIP_END_SIZE) FAIL(CORRUPT, "not a zip file");
    size_t last = size - ZIP_END_SIZE;
    size_t first = last > COMMENT_SIZE_MAX ? last - COMMENT_SIZE_MAX : 0;
    for (size_t at = last + 1; at-- > first;)
        if (signature_at(data + at) == ZIP_END_SIGNATURE &&
            at + ZIP_END_SIZE + data[at + 20] + 256u * data[at + 21] == size) {
            *out = at;
            return NULL;
        }
    FAIL(CORRUPT, "not a zip file: it has no directory at its end");
}

static Error *read_zip64_end(const uint8_t *data, size_t end, DirectoryPlace *place) {
    if (end < ZIP64_LOCATOR_SIZE) FAIL(CORRUPT, "the zip64 directory is missing");
    ByteReader reader = byte_reader(data, end);
    reader.position = end - ZIP64_LOCATOR_SIZE;
    uint32_t signature = 0, disk = 0, disks = 0;
    uint64_t offset = 0;
    TRY(byte_read_u32(&reader, &signature));
    TRY(byte_read_u32(&reader, &disk));
    TRY(byte_read_u64(&reader, &offset));
    TRY(byte_read_u32(&reader, &disks));
    if (signature != ZIP64_LOCATOR_SIGNATURE || disk != 0 || disks > 1)
        FAIL(CORRUPT, "the zip64 directory is missing");
    /* the zip64 record stands directly before its locator and has no extensions */
    if (end < ZIP64_LOCATOR_SIZE + ZIP64_END_SIZE ||
        offset != end - ZIP64_LOCATOR_SIZE - ZIP64_END_SIZE)
        FAIL(CORRUPT, "the zip64 directory is not where the file says");
    reader.position = (size_t)offset;
    uint64_t record_size = 0, versions = 0, count_here = 0;
    TRY(byte_read_u32(&reader, &signature));
    TRY(byte_read_u64(&reader, &record_size));
    TRY(byte_read_u64(&reader, &versions)); /* two versions of 2 bytes and a disk number of 4 */
    uint32_t directory_disk = (uint32_t)(versions >> 32);
    TRY(byte_read_u32(&reader, &disk));
    TRY(byte_read_u64(&reader, &count_here));
    TRY(byte_read_u64(&reader, &place->count));
    TRY(byte_read_u64(&reader, &place->size));
    TRY(byte_read_u64(&reader, &place->offset));
    if (signature != ZIP64_END_SIGNATURE || record_size != ZIP64_END_SIZE - 12 ||
        directory_disk != 0 || disk != 0 || count_here != place->count)
        FAIL(CORRUPT, "the zip64 directory's end record is damaged");
    place->end = offset;
    return NULL;
}

static Error *read_end(const uint8_t *data, size_t size, DirectoryPlace *out) {
    size_t end = 0;
    TRY(find_end(data, size, &end));
    ByteReader reader = byte_reader(data, size);
    reader.position = end + 4;
    uint16_t disk = 0, directory_disk = 0, count_here = 0, count = 0;
    uint32_t directory_size = 0, offset = 0;
    TRY(byte_read_u16(&reader, &disk));
    TRY(byte_read_u16(&reader, &directory_disk));
    TRY(byte_read_u16(&reader, &count_here));
    TRY(byte_read_u16(&reader, &count));
    TRY(byte_read_u32(&reader, &directory_size));
    TRY(byte_read_u32(&reader, &offset));
    if (disk != directory_disk || count_here != count || (disk != 0 && disk != UINT16_MAX))
        FAIL(UNSUPPORTED, "a zip file on several disks");
    DirectoryPlace place = {count, directory_size, offset, end};
    if (count == UINT16_MAX || directory_size == UINT32_MAX || offset == UINT32_MAX)
        TRY(read_zip64_end(data, end, &place));
    if (place.offset > place.end || place.end - place.offset != place.size ||
        place.count > place.size / ZIP_CENTRAL_SIZE)
        FAIL(CORRUPT, "the zip file's directory is not where its end says");
    *out = place;
    return NULL;
}

/* Sizes and offset that do not fit the header stand in the extra field 1, in this order. */
static Error *read_zip64_extra(ByteReader extra, ZipMember *member) {
    bool size = member->size == UINT32_MAX, stored = member->stored_size == UINT32_MAX;
    bool offset = member->offset == UINT32_MAX;
    if (!size && !stored && !offset) return NULL;
    while (byte_reader_left(&extra) > 0) {
        uint16_t kind = 0, length = 0;
        const uint8_t *bytes = NULL;
        TRY(byte_read_u16(&extra, &kind));
        TRY(byte_read_u16(&extra, &length));
        TRY(byte_read_view(&extra, length, &bytes));
        if (kind != ZIP64_EXTRA_KIND) continue;
        ByteReader fields = byte_reader(bytes, length);
        if (size) TRY(byte_read_u64(&fields, &member->size));
        if (stored) TRY(byte_read_u64(&fields, &member->stored_size));
        if (offset) TRY(byte_read_u64(&fields, &member->offset));
        return NULL;
    }
    /* without the extra field, the sizes are exactly 2^32 - 1, which the later checks judge */
    return NULL;
}

static Error *read_central(ByteReader *reader, ZipMember *out) {
    ZipMember member = {0};
    const uint8_t *skipped = NULL, *name = NULL, *extra = NULL;
    uint32_t signature = 0, stored_size = 0, size = 0, offset = 0;
    uint16_t flags = 0, extra_size = 0, comment_size = 0, disk = 0;
    TRY(byte_read_u32(reader, &signature));
    if (signature != ZIP_CENTRAL_SIGNATURE) FAIL(CORRUPT, "the zip file's directory is damaged");
    TRY(byte_read_view(reader, 4, &skipped)); /* versions */
    TRY(byte_read_u16(reader, &flags));
    TRY(byte_read_u16(reader, &member.method));
    TRY(byte_read_view(reader, 4, &skipped)); /* date */
    TRY(byte_read_u32(reader, &member.crc32));
    TRY(byte_read_u32(reader, &stored_size));
    TRY(byte_read_u32(reader, &size));
    TRY(byte_read_u16(reader, &member.name_size));
    TRY(byte_read_u16(reader, &extra_size));
    TRY(byte_read_u16(reader, &comment_size));
    TRY(byte_read_u16(reader, &disk));
    TRY(byte_read_view(reader, 6, &skipped)); /* attributes */
    TRY(byte_read_u32(reader, &offset));
    TRY(byte_read_view(reader, member.name_size, &name));
    TRY(byte_read_view(reader, extra_size, &extra));
    TRY(byte_read_view(reader, comment_size, &skipped));
    member.name = (const char *)name;
    member.stored_size = stored_size;
    member.size = size;
    member.offset = offset;
    if (disk != 0) FAIL(UNSUPPORTED, "a zip file on several disks");
    if (flags & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_STRONG_ENCRYPTED | ZIP_FLAG_PATCH))
        FAIL(UNSUPPORTED, "an encrypted member");
    if (member.method != ZIP_STORED && member.method != ZIP_DEFLATED)
        FAIL(UNSUPPORTED, "compression method %u", member.method);
    if (memchr(name, 0, member.name_size) || !text_is_utf8(member.name, member.name_size))
        FAIL(CORRUPT, "a name that is not UTF-8");
    TRY(read_zip64_extra(byte_reader(extra, extra_size), &member));
    *out = member;
    return NULL;
}

/* Finds the data behind the local header. limit: where the directory begins. */
static Error *read_local(const uint8_t *file, uint64_t limit, ZipMember *member) {
    if (member->offset > limit || limit - member->offset < ZIP_LOCAL_SIZE)
        FAIL(CORRUPT, "its header lies outside the file");
    ByteReader reader = byte_reader(file, (size_t)limit);
    reader.position = (size_t)member->offset;
    uint32_t signature = 0;
    uint16_t method = 0, name_size = 0, extra_size = 0;
    const uint8_t *skipped = NULL, *name = NULL;
    TRY(byte_read_u32(&reader, &signature));
    TRY(byte_read_view(&reader, 4, &skipped)); /* version, flags */
    TRY(byte_read_u16(&reader, &method));
    TRY(byte_read_view(&reader, 16, &skipped)); /* date, CRC, sizes: the directory's count */
    TRY(byte_read_u16(&reader, &name_size));
    TRY(byte_read_u16(&reader, &extra_size));
    TRY(byte_read_view(&reader, name_size, &name));
    TRY(byte_read_view(&reader, extra_size, &skipped));
    if (signature != ZIP_LOCAL_SIGNATURE || method != member->method ||
        name_size != member->name_size || memcmp(name, member->name, name_size) != 0)
        FAIL(CORRUPT, "its header is not that of the directory");
    if (member->stored_size > byte_reader_left(&reader))
        FAIL(CORRUPT, "it goes on behind the file's end");
    TRY(byte_read_view(&reader, (size_t)member->stored_size, &member->data));
    uint64_t size_max = 0;
    if (member->method == ZIP_STORED
            ? member->size != member->stored_size
            : !checked_mul_u64(member->stored_size, DEFLATE_RATIO_MAX, &size_max) ||
                  member->size > size_max + DEFLATE_SLACK)
        FAIL(CORRUPT, "%llu bytes cannot unpack to %llu", (unsigned long long)member->stored_size,
            (unsigned long long)member->size);
    return NULL;
}

static int compare_offsets(const void *a, const void *b) {
    uint64_t left = (*(const ZipMember *const *)a)->offset;
    uint64_t right = (*(const ZipMember *const *)b)->offset;
    return (left > right) - (left < right);
}

/* Overlapping members would let a small file unpack to a huge sum. */
static Error *check_apart(const ZipDirectory *directory, const uint8_t *file) {
    void *memory = NULL;
    TRY(memory_alloc(directory->count, sizeof(ZipMember *), &memory));
    const ZipMember **sorted = memory;
    for (size_t i = 0; i < directory->count; i++) sorted[i] = &directory->members[i];
    if (directory->count > 0) qsort(sorted, directory->count, sizeof *sorted, compare_offsets);
    const ZipMember *bad = NULL;
    for (size_t i = 1; i < directory->count && !bad; i++) {
        uint64_t end = (uint64_t)(sorted[i - 1]->data - file) + sorted[i - 1]->stored_size;
        if (sorted[i]->offset < end) bad = sorted[i];
    }
    Error *error = bad ? error_make(ERROR_CORRUPT, __FILE__, __LINE__,
                             "member %.*s overlaps another", bad->name_size, bad->name)
                       : NULL;
    memory_free(memory);
    return error;
}

static Error *read_members(const uint8_t *file, const DirectoryPlace *place, ZipDirectory *out) {
    ByteReader reader = byte_reader(file, (size_t)place->end);
    reader.position = (size_t)place->offset;
    for (size_t i = 0; i < place->count; i++) {
        ZipMember *member = &out->members[i];
        TRY_WRAP(read_central(&reader, member), "member %zu", i);
        TRY_WRAP(read_local(file, place->offset, member), "member %.*s", member->name_size,
            member->name);
        out->count++;
    }
    TRY(byte_reader_check_end(&reader));
    return check_apart(out, file);
}

Error *zip_directory_read(const void *data, size_t size, ZipDirectory *out) {
    DirectoryPlace place;
    TRY(read_end(data, size, &place));
    void *memory = NULL;
    TRY(memory_alloc((size_t)place.count, sizeof(ZipMember), &memory));
    ZipDirectory directory = {.members = memory};
    Error *error = read_members(data, &place, &directory);
    if (error) {
        zip_directory_deinit(&directory);
        return error;
    }
    *out = directory;
    return NULL;
}

Error *zip_member_check(const ZipMember *member) {
    if (crc32_z(0, member->data, (z_size_t)member->size) != member->crc32)
        FAIL(CORRUPT, "its content fails its CRC");
    return NULL;
}

Error *zip_member_read(const ZipMember *member, uint8_t *out) {
    OWN(ZipStream, stream) = NULL;
    TRY(zip_stream_open(member, &stream));
    TRY(zip_stream_read(stream, out, (size_t)member->size));
    return zip_stream_finish(stream);
}
