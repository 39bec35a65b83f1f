#include "tests/serialize/array_fixtures.h"

#include <stdio.h>

#include "base/allocator.h"
#include "serialize/arrays/npz.h"

void example_arrays(ArrayList *out) {
    static const struct {
        const char *name;
        DType dtype;
        Shape shape;
    } rows[] = {
        {"x", DTYPE_FLOAT32, {2, {2, 3}}},
        {"scalar", DTYPE_INT64, {0, {0}}},
        {"empty", DTYPE_FLOAT64, {2, {0, 5}}},
        {"näme/a", DTYPE_BFLOAT16, {1, {3}}},
        {"flags", DTYPE_BOOL, {1, {3}}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        NamedArray array = {0};
        assert_ok(named_array_init(&array, rows[i].name, rows[i].dtype, &rows[i].shape));
        for (uint64_t b = 0; b < array.size; b++)
            array.data[b] = (uint8_t)(rows[i].dtype == DTYPE_BOOL ? b & 1 : b * 7 + i);
        assert_ok(array_list_add(out, &array));
    }
    NamedArray texts = {0};
    const Shape shape = {1, {2}};
    assert_ok(named_array_init_texts(&texts, "texts", &shape, (const char *[]){"one", "zwölf"}));
    assert_ok(array_list_add(out, &texts));
}

void example_npz(const ArrayList *arrays, uint64_t zip64_from, ByteWriter *out) {
    char folder[64], path[80];
    test_folder_create(folder);
    (void)snprintf(path, sizeof path, "%s/example.npz", folder);
    {
        OWN(FileOutput, output) = NULL;
        OWN(NpzWriter, writer) = NULL;
        assert_ok(file_output_create(path, &output));
        assert_ok(npz_writer_create(output, &writer));
        if (zip64_from) npz_writer_set_zip64_from(writer, zip64_from);
        for (size_t i = 0; i < arrays->count; i++)
            assert_ok(npz_writer_add(writer, &arrays->items[i]));
        assert_ok(npz_writer_finish(writer));
        assert_ok(file_output_commit(output));
    }
    uint8_t *data = NULL;
    size_t size = 0;
    assert_ok(file_read(path, SIZE_MAX, &data, &size));
    byte_write_bytes(out, data, size);
    memory_unmap(data, size);
    test_folder_remove(folder);
}

void assert_array_equal(const NamedArray *a, const NamedArray *b) {
    assert_int_equal(a->dtype, b->dtype);
    assert_true(shape_equal(&a->shape, &b->shape));
    assert_int_equal(a->size, b->size);
    if (a->size > 0) assert_memory_equal(a->data, b->data, a->size);
    if (a->dtype == DTYPE_STRING)
        for (int64_t i = 0; i < shape_count_unchecked(&a->shape); i++)
            assert_string_equal(a->texts[i], b->texts[i]);
}

void assert_arrays_equal(const ArrayList *a, const ArrayList *b) {
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->items[i].name, b->items[i].name);
        assert_array_equal(&a->items[i], &b->items[i]);
    }
}

uint8_t *golden_file(const char *name, size_t *out_size) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/tests/golden/formats/%s", TEST_SOURCE_ROOT, name);
    uint8_t *data = NULL;
    assert_ok(file_read(path, SIZE_MAX, &data, out_size));
    return data;
}
