#include "tests/serialize/memory_npz.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "serialize/arrays/npy.h"
#include "serialize/arrays/zip_directory.h"
#include "serialize/arrays/zip_internal.h"
#include "tests/support/test_support.h"

typedef struct Deflater {
    z_stream stream;
    ByteWriter *out;
    uint64_t size;
    uint32_t crc;
} Deflater;

static void put(Deflater *self, const void *data, size_t size, int flush) {
    uint8_t block[4096];
    int status;
    self->stream.next_in = (Bytef *)(uintptr_t)data;
    self->stream.avail_in = (uInt)size;
    do {
        self->stream.next_out = block;
        self->stream.avail_out = sizeof block;
        status = deflate(&self->stream, flush);
        assert_true(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR);
        byte_write_bytes(self->out, block, sizeof block - self->stream.avail_out);
    } while (self->stream.avail_out == 0 || (flush == Z_FINISH && status != Z_STREAM_END));
    if (size) self->crc = (uint32_t)crc32(self->crc, data, (uInt)size);
    self->size += size;
}

static void put_npy(Deflater *self, const char *descr, const char *shape, uint64_t size) {
    static const uint8_t zeros[1 << 16];
    char head[128];
    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    int length = snprintf(head + 10, sizeof head - 10,
        "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
    assert_in_range(length, 1, 116);
    head[10 + length] = ' ';
    head[127] = '\n';
    put(self, head, sizeof head, Z_NO_FLUSH);
    for (uint64_t left = size; left > 0;) {
        size_t piece = left < sizeof zeros ? (size_t)left : sizeof zeros;
        put(self, zeros, piece, Z_NO_FLUSH);
        left -= piece;
    }
    put(self, NULL, 0, Z_FINISH);
}

/* What stands in a member's local and central header alike. */
typedef struct Member {
    char name[80];
    uint16_t name_size, method;
    uint32_t crc, packed, size, offset;
} Member;

static void put_common(const Member *member, ByteWriter *out) {
    byte_write_u16(out, ZIP_FLAG_UTF8);
    byte_write_u16(out, member->method);
    byte_write_u32(out, ZIP_DATE_1980);
    byte_write_u32(out, member->crc);
    byte_write_u32(out, member->packed);
    byte_write_u32(out, member->size);
    byte_write_u16(out, member->name_size);
}

static void put_local(Member *member, const char *name, const ByteWriter *packed, ByteWriter *out) {
    member->name_size = (uint16_t)snprintf(member->name, sizeof member->name, "%s.npy", name);
    member->packed = (uint32_t)packed->size;
    member->offset = (uint32_t)out->size;
    byte_write_u32(out, ZIP_LOCAL_SIGNATURE);
    byte_write_u16(out, ZIP_VERSION);
    put_common(member, out);
    byte_write_u16(out, 0);
    byte_write_bytes(out, member->name, member->name_size);
    byte_write_bytes(out, packed->data, packed->size);
}

static void put_directory(const Member *members, uint16_t count, ByteWriter *out) {
    uint32_t start = (uint32_t)out->size;
    for (uint16_t i = 0; i < count; i++) {
        byte_write_u32(out, ZIP_CENTRAL_SIGNATURE);
        byte_write_u16(out, ZIP_VERSION);
        byte_write_u16(out, ZIP_VERSION);
        put_common(&members[i], out);
        for (int k = 0; k < 4; k++) byte_write_u16(out, 0);
        byte_write_u32(out, 0);
        byte_write_u32(out, members[i].offset);
        byte_write_bytes(out, members[i].name, members[i].name_size);
    }
    uint32_t size = (uint32_t)out->size - start;
    byte_write_u32(out, ZIP_END_SIGNATURE);
    byte_write_u32(out, 0);
    byte_write_u16(out, count);
    byte_write_u16(out, count);
    byte_write_u32(out, size);
    byte_write_u32(out, start);
    byte_write_u16(out, 0);
    assert_ok(byte_writer_check(out));
}

void deflated_npz(
    const char *name, const char *descr, const char *shape, uint64_t size, ByteWriter *out) {
    ByteWriter OWN_BYTES(packed) = {0};
    Deflater deflater = {.out = &packed};
    assert_int_equal(
        deflateInit2(&deflater.stream, 1, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
    put_npy(&deflater, descr, shape, size);
    assert_int_equal(deflateEnd(&deflater.stream), Z_OK);
    assert_true(deflater.size < UINT32_MAX);
    Member member = {.method = ZIP_DEFLATED, .crc = deflater.crc, .size = (uint32_t)deflater.size};
    put_local(&member, name, &packed, out);
    put_directory(&member, 1, out);
}

void stored_npz(const ArrayList *arrays, ByteWriter *out) {
    enum { MEMBERS_MAX = 16 };
    Member members[MEMBERS_MAX] = {0};
    assert_in_range(arrays->count, 0, MEMBERS_MAX);
    for (size_t i = 0; i < arrays->count; i++) {
        const NamedArray *array = &arrays->items[i];
        ByteWriter OWN_BYTES(content) = {0};
        assert_ok(npy_write_header(array, &content));
        byte_write_bytes(&content, array->data, (size_t)array->size);
        assert_ok(byte_writer_check(&content));
        members[i] = (Member){.method = ZIP_STORED,
            .crc = (uint32_t)crc32_z(0, content.data, content.size),
            .size = (uint32_t)content.size};
        put_local(&members[i], array->name, &content, out);
    }
    put_directory(members, (uint16_t)arrays->count, out);
}

uint64_t resident_bytes(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*u %lu", &pages), 1);
    (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
