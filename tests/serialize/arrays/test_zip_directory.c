#include "serialize/arrays/zip_directory.h"

#include "base/allocator.h"
#include "serialize/arrays/zip_internal.h"
#include "tests/serialize/array_fixtures.h"

/* Two stored members, "ab" and "cd!", made by hand as APPNOTE has them; offsets for forging. */
typedef struct HandMade {
    ByteWriter bytes;
    uint32_t local[2];
    uint32_t central[2];
    uint32_t directory;
    uint32_t end;
} HandMade;

static void write_header(
    ByteWriter *out, bool central, uint32_t crc, uint32_t size, const char *name, uint32_t offset) {
    byte_write_u32(out, central ? ZIP_CENTRAL_SIGNATURE : ZIP_LOCAL_SIGNATURE);
    if (central) byte_write_u16(out, 20);
    byte_write_u16(out, 20);
    byte_write_u16(out, 0); /* flags */
    byte_write_u16(out, ZIP_STORED);
    byte_write_u32(out, 0); /* date */
    byte_write_u32(out, crc);
    byte_write_u32(out, size);
    byte_write_u32(out, size);
    byte_write_u16(out, (uint16_t)strlen(name));
    byte_write_u16(out, 0); /* extra */
    if (central) {
        byte_write_u16(out, 0);
        byte_write_u16(out, 0);
        byte_write_u16(out, 0);
        byte_write_u32(out, 0);
        byte_write_u32(out, offset);
    }
    byte_write_bytes(out, name, strlen(name));
}

static void make(HandMade *file) {
    static const char *const names[] = {"a", "bc"}, *const contents[] = {"ab", "cd!"};
    static const uint32_t crcs[] = {0x9e83486d, 0xf8281296}; /* of zlib.crc32 */
    *file = (HandMade){0};
    ByteWriter *out = &file->bytes;
    for (int i = 0; i < 2; i++) {
        uint32_t size = (uint32_t)strlen(contents[i]);
        file->local[i] = (uint32_t)out->size;
        write_header(out, false, crcs[i], size, names[i], 0);
        byte_write_bytes(out, contents[i], size);
    }
    file->directory = (uint32_t)out->size;
    for (int i = 0; i < 2; i++) {
        file->central[i] = (uint32_t)out->size;
        write_header(out, true, crcs[i], (uint32_t)strlen(contents[i]), names[i], file->local[i]);
    }
    file->end = (uint32_t)out->size;
    byte_write_u32(out, ZIP_END_SIGNATURE);
    byte_write_u32(out, 0);
    byte_write_u16(out, 2);
    byte_write_u16(out, 2);
    byte_write_u32(out, file->end - file->directory);
    byte_write_u32(out, file->directory);
    byte_write_u16(out, 0);
    assert_ok(byte_writer_check(out));
}

static void test_zip_directory_lists_members(void **state) {
    (void)state;
    HandMade file;
    make(&file);
    byte_write_bytes(&file.bytes, "hello", 5); /* a comment */
    file.bytes.data[file.end + 20] = 5;
    ZipDirectory directory = {0};
    assert_ok(zip_directory_read(file.bytes.data, file.bytes.size, &directory));
    assert_int_equal(directory.count, 2);
    assert_int_equal(directory.members[1].name_size, 2);
    assert_memory_equal(directory.members[1].name, "bc", 2);
    uint8_t content[3];
    assert_ok(zip_member_read(&directory.members[1], content));
    assert_memory_equal(content, "cd!", 3);
    assert_ok(zip_member_check(&directory.members[0]));
    directory.members[0].crc32 ^= 1;
    assert_fails_saying(CORRUPT, "CRC", zip_member_check(&directory.members[0]));
    zip_directory_deinit(&directory);
    byte_writer_deinit(&file.bytes);
}

/* Sets size bytes at an offset and expects the file to be refused. */
static void forged(ErrorCode code, const char *why, size_t offset_of_base, size_t at, size_t size,
    uint32_t value) {
    HandMade file;
    make(&file);
    uint32_t base;
    memcpy(&base, (const char *)&file + offset_of_base, sizeof base);
    for (size_t i = 0; i < size; i++) file.bytes.data[base + at + i] = (uint8_t)(value >> (8 * i));
    ZipDirectory directory = {0};
    test_assert_fails(zip_directory_read(file.bytes.data, file.bytes.size, &directory), code, why,
        why, __FILE__, __LINE__);
    assert_null(directory.members);
    byte_writer_deinit(&file.bytes);
}

static void test_zip_directory_refuses_forged_fields(void **state) {
    (void)state;
    enum {
        LOCAL = offsetof(HandMade, local),
        CENTRAL = offsetof(HandMade, central),
        CENTRAL_1 = CENTRAL + sizeof(uint32_t),
        END = offsetof(HandMade, end),
    };
    forged(ERROR_UNSUPPORTED, "several disks", END, 4, 2, 1);
    forged(ERROR_UNSUPPORTED, "several disks", END, 8, 2, 1);
    forged(ERROR_CORRUPT, "not where its end says", END, 8, 4, 0xfff0fff0);
    forged(ERROR_CORRUPT, "not where its end says", END, 8, 4, 0x00030003);
    forged(ERROR_CORRUPT, "too many", END, 8, 4, 0x00010001);
    forged(ERROR_CORRUPT, "not where its end says", END, 12, 4, 7);
    forged(ERROR_CORRUPT, "not where its end says", END, 16, 4, 7);
    forged(ERROR_CORRUPT, "zip64 directory is missing", END, 16, 4, UINT32_MAX);
    forged(ERROR_CORRUPT, "no directory at its end", END, 0, 4, 0);
    forged(ERROR_CORRUPT, "no directory at its end", END, 20, 2, 1);
    forged(ERROR_CORRUPT, "directory is damaged", CENTRAL, 0, 4, 0);
    forged(ERROR_UNSUPPORTED, "encrypted", CENTRAL, 8, 2, 1);
    forged(ERROR_UNSUPPORTED, "method 9", CENTRAL, 10, 2, 9);
    forged(ERROR_CORRUPT, "not that of the directory", CENTRAL, 10, 2, ZIP_DEFLATED);
    forged(ERROR_CORRUPT, "behind the file's end", CENTRAL_1, 20, 4, 4);
    forged(ERROR_CORRUPT, "behind the file's end", CENTRAL_1, 20, 4, UINT32_MAX);
    forged(ERROR_CORRUPT, "2 bytes cannot unpack to 4294967295", CENTRAL, 24, 4, UINT32_MAX);
    forged(ERROR_CORRUPT, "3 bytes cannot unpack to 4", CENTRAL_1, 24, 4, 4);
    forged(ERROR_CORRUPT, "ends early", CENTRAL_1, 28, 2, 100);
    forged(ERROR_CORRUPT, "outside the file", CENTRAL_1, 42, 4, 1 << 20);
    forged(ERROR_CORRUPT, "not that of the directory", CENTRAL_1, 42, 4, 0);
    forged(ERROR_CORRUPT, "not that of the directory", LOCAL, 0, 4, 0);
    forged(ERROR_CORRUPT, "not that of the directory", LOCAL, 30, 1, 'z');
    forged(ERROR_CORRUPT, "ends early", LOCAL, 28, 2, 1000);
    forged(ERROR_CORRUPT, "not UTF-8", CENTRAL, 46, 1, 0);
    forged(ERROR_CORRUPT, "not UTF-8", CENTRAL, 46, 1, 0xff);
    /* the first member's data would reach into the second's header */
    forged(ERROR_CORRUPT, "overlaps", LOCAL, 28, 2, 1);
}

/* Deflate makes at most 1032 of 1: more is refused before it is allocated. */
static void test_zip_directory_refuses_impossible_ratios(void **state) {
    (void)state;
    HandMade file;
    make(&file);
    file.bytes.data[file.local[0] + 8] = file.bytes.data[file.central[0] + 10] = ZIP_DEFLATED;
    byte_patch_u32(&file.bytes, file.central[0] + 24, 2 * 1032 + 65);
    ZipDirectory directory = {0};
    assert_fails_saying(CORRUPT, "2 bytes cannot unpack to 2129",
        zip_directory_read(file.bytes.data, file.bytes.size, &directory));
    byte_patch_u32(&file.bytes, file.central[0] + 24, 2 * 1032);
    assert_ok(zip_directory_read(file.bytes.data, file.bytes.size, &directory));
    uint8_t content[2 * 1032];
    assert_fails_saying(CORRUPT, "do not unpack", zip_member_read(&directory.members[0], content));
    zip_directory_deinit(&directory);
    byte_writer_deinit(&file.bytes);
}

/* Every kind of member that numpy's compressor writes; content compared with the stored file's. */
static void test_zip_member_inflates(void **state) {
    (void)state;
    size_t stored_size = 0, deflated_size = 0;
    uint8_t *stored = golden_file("numpy_stored.npz", &stored_size);
    uint8_t *deflated = golden_file("numpy_deflated.npz", &deflated_size);
    ZipDirectory a = {0}, b = {0};
    assert_ok(zip_directory_read(stored, stored_size, &a));
    assert_ok(zip_directory_read(deflated, deflated_size, &b));
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        void *content = NULL;
        assert_int_equal(b.members[i].method, ZIP_DEFLATED);
        assert_ok(memory_alloc(b.members[i].size, 1, &content));
        assert_ok(zip_member_read(&b.members[i], content));
        assert_int_equal(a.members[i].size, b.members[i].size);
        assert_memory_equal(content, a.members[i].data, a.members[i].size);
        memory_free(content);
    }
    zip_directory_deinit(&a);
    zip_directory_deinit(&b);
    memory_unmap(stored, stored_size);
    memory_unmap(deflated, deflated_size);
}

int test_zip_directory(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zip_directory_lists_members),
        cmocka_unit_test(test_zip_directory_refuses_forged_fields),
        cmocka_unit_test(test_zip_directory_refuses_impossible_ratios),
        cmocka_unit_test(test_zip_member_inflates),
    };
    return cmocka_run_group_tests_name("zip_directory", tests, NULL, NULL);
}
