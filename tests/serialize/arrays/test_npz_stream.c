#include "serialize/arrays/npz_stream.h"

#include <string.h>

#include "tests/serialize/array_fixtures.h"
#include "tests/serialize/memory_npz.h"

enum { CHUNKS = 40, LAST_SIZE = 4096 };

static void make_array(NamedArray *out) {
    const Shape shape = {1, {CHUNKS * (CHUNK_SIZE / 4) + LAST_SIZE / 4}};
    assert_ok(named_array_init(out, "x", DTYPE_INT32, &shape));
    for (int64_t i = 0; i < shape.dims[0]; i++) ((int32_t *)out->data)[i] = (int32_t)(i * 2654435);
}

/* In the order in which threads may ask: some ahead, and none further than there are places. */
static void test_npz_stream_gives_chunks_in_any_order(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    NpzFile OWN_NPZ(file) = {0};
    OWN(NpzStream, stream) = NULL;
    NamedArray array = {0};
    make_array(&array);
    const uint8_t *expected = array.data;
    assert_ok(array_list_add(&arrays, &array));
    example_npz(&arrays, 0, &bytes);
    assert_ok(npz_file_open(bytes.data, bytes.size, UINT64_MAX, &file));
    assert_true(npz_array_is_streamable(&file.items[0]));
    assert_ok(npz_stream_open(&file.items[0], &stream));
    RawChunks chunks = npz_stream_chunks(stream);
    for (size_t pair = 0; pair <= CHUNKS; pair += 2)
        for (size_t i = 0; i < 2; i++) {
            size_t index = pair + 1 - i; /* the later one of two first */
            const void *data;
            if (index > CHUNKS) continue;
            assert_ok(chunks.get(chunks.self, index, &data));
            assert_memory_equal(data, expected + index * CHUNK_SIZE,
                chunk_raw_size(arrays.items[0].size, CHUNK_SIZE, index));
            chunks.done(chunks.self, index);
        }
    assert_ok(npz_stream_finish(stream));
}

/* An error is told, and to those who ask later. */
static void test_npz_stream_tells_of_bad_elements(void **state) {
    (void)state;
    ByteWriter OWN_BYTES(bytes) = {0};
    NpzFile OWN_NPZ(file) = {0};
    ZipMember cut; /* the stream reads it until it is closed */
    OWN(NpzStream, stream) = NULL;
    const void *data;
    deflated_npz("x", "|b1", "(4194304,)", 4 << 20, &bytes);
    assert_ok(npz_file_open(bytes.data, bytes.size, UINT64_MAX, &file));
    cut = *file.items[0].member;
    cut.stored_size /= 2;
    file.items[0].member = &cut;
    assert_ok(npz_stream_open(&file.items[0], &stream));
    RawChunks chunks = npz_stream_chunks(stream);
    assert_fails(CORRUPT, chunks.get(chunks.self, 3, &data));
    assert_fails(CORRUPT, chunks.get(chunks.self, 3, &data));
}

int test_npz_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_npz_stream_gives_chunks_in_any_order),
        cmocka_unit_test(test_npz_stream_tells_of_bad_elements),
    };
    return cmocka_run_group_tests_name("npz_stream", tests, NULL, NULL);
}
