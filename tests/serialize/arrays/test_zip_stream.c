#include "serialize/arrays/zip_stream.h"
#include "serialize/arrays/zip_directory.h"

#include <string.h>

#include "tests/serialize/array_fixtures.h"
#include "tests/serialize/memory_npz.h"

/* Piece by piece comes what comes at once. */
static void test_zip_stream_gives_what_the_member_holds(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(file) = {0};
    ZipDirectory directory = {0};
    static uint8_t whole[4096 + 128], pieces[sizeof whole];
    deflated_npz("x", "<f4", "(1024,)", 4096, &file);
    assert_ok(zip_directory_read(file.data, file.size, &directory));
    assert_int_equal(directory.members[0].size, sizeof whole);
    assert_ok(zip_member_read(&directory.members[0], whole));
    for (size_t piece = 1; piece <= sizeof whole; piece = piece * 3 + 1) {
        OWN(ZipStream, stream) = NULL;
        assert_ok(zip_stream_open(&directory.members[0], &stream));
        for (size_t at = 0; at < sizeof whole; at += piece)
            assert_ok(zip_stream_read(
                stream, pieces + at, piece < sizeof whole - at ? piece : sizeof whole - at));
        assert_memory_equal(pieces, whole, sizeof whole);
        assert_fails(CORRUPT, zip_stream_read(stream, pieces, 1));
        assert_ok(zip_stream_finish(stream));
    }
    zip_directory_deinit(&directory);
}

static void test_zip_stream_refuses_what_fails_its_crc_or_was_not_read(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(file) = {0};
    ZipDirectory __attribute__((cleanup(zip_directory_deinit))) directory = {0};
    static uint8_t whole[4096 + 128];
    deflated_npz("x", "<f4", "(1024,)", 4096, &file);
    assert_ok(zip_directory_read(file.data, file.size, &directory));
    OWN(ZipStream, half) = NULL;
    assert_ok(zip_stream_open(&directory.members[0], &half));
    assert_ok(zip_stream_read(half, whole, 100));
    assert_fails_saying(CORRUPT, "not read to its end", zip_stream_finish(half));
    directory.members[0].crc32 ^= 1;
    OWN(ZipStream, wrong) = NULL;
    assert_ok(zip_stream_open(&directory.members[0], &wrong));
    assert_ok(zip_stream_read(wrong, whole, sizeof whole));
    assert_fails_saying(CORRUPT, "CRC", zip_stream_finish(wrong));
    directory.members[0].crc32 ^= 1;
    directory.members[0].size -= 1; /* it goes on behind what the directory says */
    OWN(ZipStream, longer) = NULL;
    assert_ok(zip_stream_open(&directory.members[0], &longer));
    assert_ok(zip_stream_read(longer, whole, sizeof whole - 1));
    assert_fails(CORRUPT, zip_stream_finish(longer));
}

int test_zip_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zip_stream_gives_what_the_member_holds),
        cmocka_unit_test(test_zip_stream_refuses_what_fails_its_crc_or_was_not_read),
    };
    return cmocka_run_group_tests_name("zip_stream", tests, NULL, NULL);
}
