#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "serialize/arrays/array_values.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/npz.h"
#include "tests/tools/tools_fixtures.h"
#include "tools/run/run_machine.h"

static const char program[] =
    "function main(a: float32[n], b: int64[]) -> (y: float32[n]) exported {\n"
    " Ret r0\n}\n"
    "function nothing() exported {\n Ret 0\n}\n";

typedef struct Files {
    char folder[64];
    char option_a[128], option_b[128], option_c[128], option_npz[128];
} Files;

static NamedArray make_array(const char *name, DType dtype, uint32_t rank, int64_t dim) {
    NamedArray array;
    Shape shape = shape_make(rank, &dim);
    assert_ok(named_array_init(&array, name, dtype, &shape));
    for (uint64_t i = 0; i < array.size; i++) array.data[i] = (uint8_t)i;
    return array;
}

static void write_npy(const char *path, DType dtype, uint32_t rank, int64_t dim) {
    ByteWriter OWN_BYTES(bytes) = {0};
    NamedArray array = make_array("", dtype, rank, dim);
    assert_ok(npy_write_header(&array, &bytes));
    byte_write_bytes(&bytes, array.data, array.size);
    assert_ok(byte_writer_check(&bytes));
    assert_ok(file_write_atomic(path, bytes.data, bytes.size));
    named_array_deinit(&array);
}

static void write_npz(const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(NpzWriter, writer) = NULL;
    assert_ok(file_output_create(path, &output));
    assert_ok(npz_writer_create(output, &writer));
    for (int i = 0; i < 2; i++) {
        NamedArray array = make_array(i ? "b" : "a", i ? DTYPE_INT64 : DTYPE_FLOAT32, i ? 0 : 1, 3);
        assert_ok(npz_writer_add(writer, &array));
        named_array_deinit(&array);
    }
    assert_ok(npz_writer_finish(writer));
    assert_ok(file_output_commit(output));
}

static int setup(void **state) {
    static Files files;
    test_folder_create(files.folder);
    (void)snprintf(files.option_a, sizeof files.option_a, "a=%s/a.npy", files.folder);
    (void)snprintf(files.option_b, sizeof files.option_b, "b=%s/b.npy", files.folder);
    (void)snprintf(files.option_c, sizeof files.option_c, "c=%s/a.npy", files.folder);
    (void)snprintf(files.option_npz, sizeof files.option_npz, "%s/both.npz", files.folder);
    write_npy(files.option_a + 2, DTYPE_FLOAT32, 1, 3);
    write_npy(files.option_b + 2, DTYPE_INT64, 0, 0);
    write_npz(files.option_npz);
    *state = &files;
    return 0;
}

static int teardown(void **state) {
    const Files *files = *state;
    test_folder_remove(files->folder);
    return 0;
}

static Error *read_inputs(const char *function, const char *first, const char *second,
    Value **out_values, uint32_t *out_count) {
    ToolsRun OWN_RUN(run) = {0};
    uint32_t index;
    const char *words[] = {
        "run", "m", first ? "--input" : NULL, first, second ? "--input" : NULL, second, NULL};
    tools_run_open(program, &run);
    assert_ok(executable_find_function(run.executable, function, &index));
    CommandContext *context = command_context_make(words);
    Error *error = run_inputs_read(context, run.executable, &index, out_values, out_count);
    free(context);
    return error;
}

static void check_inputs(const char *first, const char *second) {
    Value *values = NULL;
    uint32_t count = 0;
    assert_ok(read_inputs("main", first, second, &values, &count));
    assert_int_equal(count, 2);
    assert_int_equal(values[0].tensor->dtype, DTYPE_FLOAT32);
    assert_int_equal(values[0].tensor->shape.dims[0], 3);
    assert_memory_equal(tensor_data(values[0].tensor), "\0\1\2\3\4\5\6\7\x8\x9\xa\xb", 12);
    assert_int_equal(values[1].tensor->dtype, DTYPE_INT64);
    assert_int_equal(values[1].tensor->shape.rank, 0);
    array_values_release(values, count);
}

static void test_run_inputs_come_from_files_in_any_order(void **state) {
    const Files *files = *state;
    check_inputs(files->option_a, files->option_b);
    check_inputs(files->option_b, files->option_a);
    check_inputs(files->option_npz, NULL);
}

static void test_run_inputs_of_a_function_without_any(void **state) {
    (void)state;
    Value *values = NULL;
    uint32_t count = 7;
    assert_ok(read_inputs("nothing", NULL, NULL, &values, &count));
    assert_int_equal(count, 0);
    array_values_release(values, count);
}

static void refused(ErrorCode code, const char *message, const char *first, const char *second) {
    Value *values = NULL;
    uint32_t count;
    test_assert_fails(read_inputs("main", first, second, &values, &count), code, message, first,
        __FILE__, __LINE__);
    assert_null(values);
}

static void test_run_inputs_are_all_there_once(void **state) {
    const Files *files = *state;
    refused(ERROR_INVALID, "input b of function main is missing", files->option_a, NULL);
    refused(ERROR_INVALID, "input a is given twice", files->option_a, files->option_npz);
    refused(ERROR_INVALID, "function main has no input c; it has a, b", files->option_c, NULL);
}

static void test_run_inputs_name_the_file_that_is_wrong(void **state) {
    (void)state;
    refused(ERROR_NOT_FOUND, "gone.npy", "a=/tmp/gone.npy", NULL);
    refused(ERROR_NOT_FOUND, "gone.npz", "/tmp/gone.npz", NULL);
    refused(ERROR_CORRUPT, "", "a=/proc/self/exe", NULL);
    refused(ERROR_USAGE, "is wanted", "a.npy", NULL);
    refused(ERROR_USAGE, "is wanted", "=a.npy", NULL);
}

int test_run_inputs(void) {
#define WITH_FILES(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_FILES(test_run_inputs_come_from_files_in_any_order),
        WITH_FILES(test_run_inputs_of_a_function_without_any),
        WITH_FILES(test_run_inputs_are_all_there_once),
        WITH_FILES(test_run_inputs_name_the_file_that_is_wrong),
    };
    return cmocka_run_group_tests_name("run_inputs", tests, NULL, NULL);
}
