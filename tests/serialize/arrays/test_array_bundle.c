#include "serialize/arrays/array_bundle.h"

#include <string.h>

#include "tests/serialize/array_fixtures.h"

enum { LARGE = 700000 }; /* floats: three chunks */

static void add_large(ArrayList *list, const char *name, int64_t count) {
    NamedArray array;
    Shape shape = shape_make(1, &count);
    uint64_t state = 5;
    assert_ok(named_array_init(&array, name, DTYPE_FLOAT32, &shape));
    fixture_fill_normal(&state, (float *)array.data, (size_t)count, 1);
    assert_ok(array_list_add(list, &array));
}

static Error *read_back(const ArrayBundle *bundle, MemoryStore *store, uint64_t bytes_max) {
    ArrayList OWN_ARRAYS(back) = {0};
    return array_bundle_read(bundle->bytes.data, bundle->bytes.size, bundle->chunks,
        bundle->chunk_count, NULL, CHUNK_VERIFY_XXH3, memory_store_source(store), bytes_max, &back);
}

static void test_array_bundle_round_trips(void **state) {
    (void)state;
    MemoryStore store = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    ArrayList OWN_ARRAYS(back) = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    ArrayBundle OWN_BUNDLE(again) = {0};
    example_arrays(&arrays);
    add_large(&arrays, "large", LARGE);
    add_large(&arrays, "none", 0);
    assert_ok(array_bundle_write(&arrays, NULL, memory_store_sink(&store), &bundle));
    assert_int_equal(bundle.chunk_count, 3);
    assert_true(bundle.bytes.size < 4096);
    assert_ok(array_bundle_write(&arrays, NULL, memory_store_sink(&store), &again));
    assert_int_equal(again.bytes.size, bundle.bytes.size);
    assert_memory_equal(again.bytes.data, bundle.bytes.data, bundle.bytes.size);
    assert_int_equal(store.put_count, 3);
    assert_ok(
        array_bundle_read(bundle.bytes.data, bundle.bytes.size, bundle.chunks, bundle.chunk_count,
            NULL, CHUNK_VERIFY_SHA256, memory_store_source(&store), UINT64_MAX, &back));
    assert_arrays_equal(&arrays, &back);
    assert_fails_saying(EXHAUSTED, "too large", read_back(&bundle, &store, LARGE * 4));
    memory_store_deinit(&store);
}

static void test_array_bundle_of_nothing(void **state) {
    (void)state;
    MemoryStore store = {0};
    ArrayList none = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    assert_ok(array_bundle_write(&none, NULL, memory_store_sink(&store), &bundle));
    assert_ok(read_back(&bundle, &store, 0));
}

/* Nothing is believed: every truncation is refused, every flipped byte is refused or read. */
static void test_array_bundle_refuses_damage(void **state) {
    (void)state;
    MemoryStore store = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    example_arrays(&arrays);
    add_large(&arrays, "large", LARGE);
    assert_ok(array_bundle_write(&arrays, NULL, memory_store_sink(&store), &bundle));
    size_t size = bundle.bytes.size, refused = 0;
    for (bundle.bytes.size = 0; bundle.bytes.size < size; bundle.bytes.size++)
        assert_fails(CORRUPT, read_back(&bundle, &store, 1 << 24));
    for (size_t i = 0; i < size; i++) {
        bundle.bytes.data[i] ^= 0x11;
        Error *error = read_back(&bundle, &store, 1 << 24);
        refused += error != NULL;
        error_free(error); /* a flipped bit of data is another number */
        bundle.bytes.data[i] ^= 0x11;
    }
    assert_true(refused > 20);
    bundle.chunk_count--;
    assert_fails(CORRUPT, read_back(&bundle, &store, 1 << 24));
    bundle.chunk_count++;
    bundle.chunks[1].raw_size--;
    assert_fails_saying(CORRUPT, "chunk 1", read_back(&bundle, &store, 1 << 24));
    memory_store_deinit(&store);
}

/* Names, types, shapes and what stands in the bytes; of chunks only that they are there. */
static void test_array_bundle_form_needs_no_chunk(void **state) {
    (void)state;
    MemoryStore store = {0};
    ArrayList OWN_ARRAYS(arrays) = {0};
    ArrayList OWN_ARRAYS(back) = {0};
    ArrayBundle OWN_BUNDLE(bundle) = {0};
    add_large(&arrays, "small", 3);
    add_large(&arrays, "large", LARGE);
    assert_ok(array_bundle_write(&arrays, NULL, memory_store_sink(&store), &bundle));
    memory_store_deinit(&store);
    assert_ok(array_bundle_read_form(
        bundle.bytes.data, bundle.bytes.size, bundle.chunks, bundle.chunk_count, 1 << 24, &back));
    assert_int_equal(back.count, 2);
    assert_memory_equal(back.items[0].data, arrays.items[0].data, 3 * sizeof(float));
    assert_string_equal(back.items[1].name, "large");
    assert_int_equal(back.items[1].shape.dims[0], LARGE);
    for (size_t i = 0; i < back.items[1].size; i += 4096)
        assert_int_equal(back.items[1].data[i], 0);
    ArrayList none = {0};
    assert_fails(CORRUPT, array_bundle_read_form(bundle.bytes.data, bundle.bytes.size,
                              bundle.chunks, bundle.chunk_count - 1, 1 << 24, &none));
    assert_fails(EXHAUSTED, array_bundle_read_form(bundle.bytes.data, bundle.bytes.size,
                                bundle.chunks, bundle.chunk_count, LARGE, &none));
}

int test_array_bundle(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_bundle_round_trips),
        cmocka_unit_test(test_array_bundle_of_nothing),
        cmocka_unit_test(test_array_bundle_refuses_damage),
        cmocka_unit_test(test_array_bundle_form_needs_no_chunk),
    };
    return cmocka_run_group_tests_name("array_bundle", tests, NULL, NULL);
}
