#include "store/weights/weight_file.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/store/store_fixtures.h"

enum { SIZE = 2 * WEIGHT_PIECE_SIZE + 777, BLOCK = 4096 };

static uint8_t byte_at(uint64_t offset) { return (uint8_t)(offset * 31 + offset / 257); }

/* Odd pieces come out of the buffer, even ones from elsewhere. */
static Error *read_bytes(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    uint8_t *own = context, *to = offset / WEIGHT_PIECE_SIZE % 2 ? buffer : own;
    for (size_t i = 0; i < size; i++) to[i] = byte_at(offset + i);
    *out_data = to;
    return NULL;
}

static Error *read_never(
    void *context, uint64_t offset, size_t size, void *buffer, const void **out_data) {
    (void)context, (void)offset, (void)size, (void)buffer, (void)out_data;
    FAIL(FAILED, "the device does not answer");
}

static WeightKey make_key(uint64_t size) {
    return (WeightKey){.executable = {{1, 2}}, .layout = {{3, 4}}, .size = size};
}

static int open_new(const TestHome *home) {
    const char *path = fixture_path(home, "weights");
    int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(descriptor >= 0);
    return descriptor;
}

static int write_file(const TestHome *home, uint64_t size) {
    void *own;
    WeightKey key = make_key(size);
    int descriptor = open_new(home);
    expect_ok(memory_alloc(1, WEIGHT_PIECE_SIZE, &own));
    expect_ok(weight_file_write(descriptor, &key, (WeightReader){read_bytes, own}, NULL));
    memory_free(own);
    return descriptor;
}

static void test_weight_file_comes_back(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    static const uint64_t sizes[] = {1, WEIGHT_PIECE_SIZE, SIZE};
    for (size_t s = 0; s < 3; s++) {
        WeightKey key = make_key(sizes[s]);
        WeightFile file;
        uint64_t size;
        int descriptor = write_file(&home, sizes[s]);
        assert_int_equal(lseek(descriptor, 0, SEEK_END), weight_file_size(&key));
        expect_ok(weight_file_read_size(descriptor, &size));
        assert_int_equal(size, sizes[s]);
        expect_ok(weight_file_open(descriptor, &key, &file));
        (void)close(descriptor);
        assert_int_equal((uintptr_t)file.data % BLOCK, 0);
        for (size_t i = 0; i < weight_file_piece_count(&file); i++)
            expect_ok(weight_file_check_piece(&file, i));
        for (uint64_t i = 0; i < sizes[s]; i += 97) assert_int_equal(file.data[i], byte_at(i));
        assert_int_equal(file.data[sizes[s] - 1], byte_at(sizes[s] - 1));
        weight_file_close(&file);
    }
}

/* One bit anywhere: in the header the file is refused, in the data its piece. */
static void test_weight_file_notices_each_changed_byte(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    WeightKey key = make_key(SIZE);
    int descriptor = write_file(&home, SIZE);
    uint64_t data_offset = weight_file_size(&key) - SIZE, header_size = 96 + 3 * 8;
    static const uint64_t inside[] = {0, 5, WEIGHT_PIECE_SIZE, SIZE - 1};
    uint8_t byte;
    WeightFile file;
    for (uint64_t at = 0; at < header_size; at++) {
        assert_int_equal(pread(descriptor, &byte, 1, (off_t)at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(descriptor, &byte, 1, (off_t)at), 1);
        Error *error = weight_file_open(descriptor, &key, &file);
        assert_true(error_code(error) == ERROR_CORRUPT || error_code(error) == ERROR_UNSUPPORTED);
        error_free(error);
        byte ^= 0x10;
        assert_int_equal(pwrite(descriptor, &byte, 1, (off_t)at), 1);
    }
    for (size_t i = 0; i < 4; i++) {
        off_t at = (off_t)(data_offset + inside[i]);
        byte = byte_at(inside[i]) ^ 1;
        assert_int_equal(pwrite(descriptor, &byte, 1, at), 1);
        expect_ok(weight_file_open(descriptor, &key, &file));
        for (size_t p = 0; p < weight_file_piece_count(&file); p++) {
            Error *error = weight_file_check_piece(&file, p);
            bool is_hit = p == inside[i] / WEIGHT_PIECE_SIZE;
            assert_int_equal(error_code(error), is_hit ? ERROR_CORRUPT : ERROR_NONE);
            error_free(error);
        }
        weight_file_close(&file);
        byte ^= 1;
        assert_int_equal(pwrite(descriptor, &byte, 1, at), 1);
    }
    (void)close(descriptor);
}

static void test_weight_file_refuses_other_keys_and_sizes(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    WeightKey key = make_key(SIZE), other;
    WeightFile file;
    uint64_t size;
    int descriptor = write_file(&home, SIZE);
    other = key;
    other.executable.bytes[31] ^= 1;
    expect_error(weight_file_open(descriptor, &other, &file), ERROR_CORRUPT, "something else");
    other = key;
    other.layout.bytes[0] ^= 1;
    expect_error(weight_file_open(descriptor, &other, &file), ERROR_CORRUPT, "something else");
    static const uint64_t sizes[] = {0, SIZE - 1, SIZE + 1, UINT64_MAX, WEIGHT_DATA_SIZE_MAX};
    for (size_t i = 0; i < 5; i++) {
        other = make_key(sizes[i]);
        expect_error(weight_file_open(descriptor, &other, &file), ERROR_CORRUPT, "");
    }
    assert_int_equal(ftruncate(descriptor, (off_t)weight_file_size(&key) - 1), 0);
    expect_error(weight_file_open(descriptor, &key, &file), ERROR_CORRUPT, "");
    assert_int_equal(ftruncate(descriptor, 84), 0);
    expect_error(weight_file_read_size(descriptor, &size), ERROR_CORRUPT, "");
    other = make_key(0);
    expect_error(weight_file_write(descriptor, &other, (WeightReader){read_never, NULL}, NULL),
        ERROR_INVALID, "0 bytes");
    expect_error(weight_file_write(descriptor, &key, (WeightReader){read_never, NULL}, NULL),
        ERROR_FAILED, "does not answer");
    (void)close(descriptor);
}

static void test_weight_file_names_are_keys(void **state) {
    (void)state;
    char name[WEIGHT_NAME_SIZE];
    WeightKey key = make_key(7), found = {.size = 1};
    weight_file_name(&key, name);
    assert_true(weight_file_parse_name(name, &found));
    assert_true(digest_equal(&found.executable, &key.executable));
    assert_true(digest_equal(&found.layout, &key.layout));
    assert_int_equal(found.size, 0);
    static const char *const others[] = {"", "new-0", "x.lvw", "0102-0304.lvw"};
    for (size_t i = 0; i < 4; i++) assert_false(weight_file_parse_name(others[i], &found));
    name[3] = 'G';
    assert_false(weight_file_parse_name(name, &found));
    weight_file_name(&key, name);
    name[64] = '_';
    assert_false(weight_file_parse_name(name, &found));
    weight_file_name(&key, name);
    name[strlen(name) - 1] = 'x';
    assert_false(weight_file_parse_name(name, &found));
}

TEST_GROUP(weight_file, cmocka_unit_test(test_weight_file_comes_back),
    cmocka_unit_test(test_weight_file_notices_each_changed_byte),
    cmocka_unit_test(test_weight_file_refuses_other_keys_and_sizes),
    cmocka_unit_test(test_weight_file_names_are_keys))
