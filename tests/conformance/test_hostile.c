#include <stdio.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/conformance/conformance.h"
#include "tests/support/cuda_shim.h"
#include "tests/support/test_support.h"

/* Indices, sizes and attributes as an enemy would choose them: an Error that says what, or a
 * defined result; never a trap, never a byte beside a tensor (ASan watches; sim checks bounds). */

static const char *const device_specs[] = {
    "cpu", "cpu:threads=3", "sim:0,memory=16MiB", "sim:0,memory=16MiB,worker=process", "shim"};
enum { DEVICE_COUNT = sizeof device_specs / sizeof device_specs[0] };
static Device *devices[DEVICE_COUNT];

static int open_devices(void **state) {
    (void)state;
    for (uint32_t i = 0; i < DEVICE_COUNT; i++)
        assert_ok(cuda_shim_open(device_specs[i], &devices[i]));
    return 0;
}

static int close_devices(void **state) {
    (void)state;
    for (uint32_t i = 0; i < DEVICE_COUNT; i++) device_close(devices[i]);
    return 0;
}

static Tensor *int64_tensor(uint32_t rank, const int64_t *dims, const int64_t *values) {
    Tensor *tensor = NULL;
    Shape shape = shape_make(rank, dims);
    assert_ok(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &tensor));
    if (tensor_bytes(tensor)) memcpy(tensor_data(tensor), values, tensor_bytes(tensor));
    return tensor;
}

/* Runs a call on every device with 1 and 3 threads; all must end the same way. Releases inputs. */
static ErrorCode run_everywhere(DeviceCall *call, uint64_t *out_hash) {
    ErrorCode first = ERROR_NONE;
    call->bytes_max = 1 << 20;
    for (uint32_t i = 0; i < DEVICE_COUNT * 2; i++) {
        Tensor *outputs[DEVICE_CALL_OUTPUTS_MAX] = {NULL};
        call->device = devices[i / 2];
        call->threads = i % 2 ? 3 : 1;
        Error *error = device_call_run(call, outputs, NULL);
        ErrorCode code = error_code(error);
        error_free(error);
        uint64_t hash = code == ERROR_NONE ? device_tensor_hash(outputs[0]) : 0;
        for (uint32_t o = 0; o < DEVICE_CALL_OUTPUTS_MAX; o++) tensor_release(outputs[o]);
        if (i == 0) first = code;
        if (i == 0 && out_hash) *out_hash = hash;
        assert_int_equal(code, first);
        if (out_hash) assert_true(hash == *out_hash);
    }
    for (uint32_t i = 0; i < call->input_count; i++) tensor_release(call->inputs[i]);
    return first;
}

static const int64_t wild_indices[] = {
    4, -5, INT64_MAX, INT64_MIN, INT64_C(1) << 32, -(INT64_C(1) << 32), INT64_C(1) << 61};

static void test_indices_out_of_range_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND"};
    Shape data = {.rank = 2, .dims = {4, 3}};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t w = 0; w < sizeof wild_indices / sizeof wild_indices[0]; w++) {
            bool scatter = text_starts_with(names[n], "Scatter");
            bool tuples = text_ends_with(names[n], "ND");
            int64_t values[6] = {0, 1, 2, 3, wild_indices[w], 1};
            /* the second tuple, or an element in the middle */
            const int64_t pairs[] = {2, 2}, grid[] = {2, 3};
            if (tuples) values[2] = wild_indices[w];
            DeviceCall call = {.operator_name = names[n], .input_count = scatter ? 3 : 2};
            call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &data, 0, 1, 1);
            call.inputs[1] = int64_tensor(2, tuples ? pairs : grid, values);
            Shape updates = {.rank = tuples ? 1 : 2, .dims = {2, tuples ? 0 : 3}};
            if (scatter) call.inputs[2] = device_tensor_random(DTYPE_FLOAT32, &updates, 0, 1, 2);
            assert_int_equal(run_everywhere(&call, NULL), ERROR_FAILED);
        }
}

/* The classes of a loss and the positions of a rotation are indices, too; lengths of caches only
 * say what is hidden. */
static void test_networks_meet_wild_indices(void **state) {
    (void)state;
    const Shape data = {.rank = 2, .dims = {2, 3}}, cache = {.rank = 2, .dims = {3, 2}};
    const Shape heads = {.rank = 4, .dims = {1, 1, 2, 4}};
    const int64_t two[] = {2}, row[] = {1, 2}, one[] = {1};
    for (size_t w = 0; w < sizeof wild_indices / sizeof wild_indices[0]; w++) {
        const int64_t values[2] = {1, wild_indices[w]};
        DeviceCall loss = {.operator_name = "NegativeLogLikelihoodLoss", .input_count = 2};
        loss.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &data, 0, 1, 1);
        loss.inputs[1] = int64_tensor(1, two, values);
        assert_int_equal(run_everywhere(&loss, NULL), ERROR_FAILED);
        DeviceCall rotary = {.operator_name = "RotaryEmbedding", .input_count = 4};
        rotary.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &heads, 0, 1, 1);
        rotary.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &cache, 0, 1, 2);
        rotary.inputs[2] = device_tensor_random(DTYPE_FLOAT32, &cache, 0, 1, 3);
        rotary.inputs[3] = int64_tensor(2, row, values);
        assert_int_equal(run_everywhere(&rotary, NULL), ERROR_FAILED);
        DeviceCall attention = {
            .operator_name = "Attention", .attributes = "{is_causal=1}", .input_count = 7};
        for (uint32_t i = 0; i < 3; i++)
            attention.inputs[i] = device_tensor_random(DTYPE_FLOAT32, &heads, 0, 1, i);
        attention.inputs[6] = int64_tensor(1, one, &wild_indices[w]);
        assert_int_equal(run_everywhere(&attention, NULL), ERROR_NONE);
    }
}

/* Nothing can be gathered from nothing; but no index is no error. */
static void test_gather_from_empty_data(void **state) {
    (void)state;
    Shape data = {.rank = 2, .dims = {0, 3}};
    const int64_t one[] = {1}, none[] = {0}, zero[] = {0};
    DeviceCall call = {.operator_name = "Gather", .input_count = 2};
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &data, 0, 1, 1);
    call.inputs[1] = int64_tensor(1, one, zero);
    assert_int_equal(run_everywhere(&call, NULL), ERROR_FAILED);
    call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &data, 0, 1, 1);
    call.inputs[1] = int64_tensor(1, none, zero);
    assert_int_equal(run_everywhere(&call, NULL), ERROR_NONE);
}

static void test_one_hot_of_wild_indices_is_cold(void **state) {
    (void)state;
    uint64_t hash;
    const int64_t count[] = {sizeof wild_indices / sizeof wild_indices[0]}, one[] = {1};
    static const double values[] = {2, 5};
    DeviceCall call = {.operator_name = "OneHot", .input_count = 3};
    call.inputs[0] = int64_tensor(1, count, wild_indices);
    call.inputs[1] = int64_tensor(1, one, (int64_t[]){4});
    call.inputs[2] = device_tensor(DTYPE_FLOAT32, values, 1, 2);
    assert_int_equal(run_everywhere(&call, &hash), ERROR_NONE);
    static const int64_t depths[] = {0, -1, INT64_MIN, INT64_MAX, INT64_C(1) << 61};
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        call.inputs[0] = int64_tensor(1, count, wild_indices);
        call.inputs[1] = int64_tensor(1, one, &depths[i]);
        call.inputs[2] = device_tensor(DTYPE_FLOAT32, values, 1, 2);
        assert_int_equal(run_everywhere(&call, NULL), ERROR_INVALID);
    }
}

/* NumPy's meaning of slices at the ends of int64. */
static void test_slice_takes_any_bounds(void **state) {
    (void)state;
    static const struct {
        int64_t start, end, step, count;
    } rows[] = {
        {INT64_MIN, INT64_MAX, 1, 5},
        {INT64_MAX, INT64_MIN, -1, 5},
        {INT64_MIN, INT64_MAX, INT64_MAX, 1},
        {INT64_MAX, INT64_MIN, INT64_MIN, 1},
        {INT64_MAX, INT64_MAX, 1, 0},
        {-1, INT64_MIN, -2, 3},
        {0, INT64_MIN, 1, 0},
    };
    const int64_t one[] = {1}, five[] = {5};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        DeviceCall call = {.device = devices[0], .operator_name = "Slice", .input_count = 5};
        call.inputs[0] = int64_tensor(1, five, (int64_t[]){0, 1, 2, 3, 4});
        call.inputs[1] = int64_tensor(1, one, &rows[i].start);
        call.inputs[2] = int64_tensor(1, one, &rows[i].end);
        call.inputs[3] = int64_tensor(1, one, (int64_t[]){0});
        call.inputs[4] = int64_tensor(1, one, &rows[i].step);
        OWN(Plan, plan) = NULL;
        assert_ok(device_call_plan(&call, &plan));
        assert_int_equal(plan->outputs[0].shape.dims[0], rows[i].count);
        uint64_t hash;
        assert_int_equal(run_everywhere(&call, &hash), ERROR_NONE);
    }
}

static void test_integer_division_never_traps(void **state) {
    (void)state;
    static const char *const names[] = {"Div", "Mod", "Pow"};
    static const DType dtypes[] = {DTYPE_INT8, DTYPE_INT16, DTYPE_INT32, DTYPE_INT64, DTYPE_UINT8,
        DTYPE_UINT16, DTYPE_UINT32, DTYPE_UINT64};
    static const double left[] = {5, 0, -0x1p63, -0x1p63, 7, -5}, right[] = {0, 0, -1, 0, -3, -1};
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            DeviceCall call = {.operator_name = names[n], .input_count = 2};
            call.inputs[0] = device_tensor(dtypes[d], left, 1, 6);
            call.inputs[1] = device_tensor(dtypes[d], right, 1, 6);
            uint64_t hash;
            ErrorCode code = run_everywhere(&call, &hash);
            assert_true(code == ERROR_NONE || code == ERROR_UNSUPPORTED);
        }
}

/* Casting what does not fit is defined too. */
static void test_casts_of_wild_floats_never_trap(void **state) {
    (void)state;
    static const char *const targets[] = {"int8", "int16", "int32", "int64", "uint8", "uint16",
        "uint32", "uint64", "bool", "float16", "bfloat16", "float32", "float8e4m3fn", "float8e5m2"};
    static const DType dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT64, DTYPE_FLOAT16, DTYPE_BFLOAT16};
    const double wild[] = {(double)__builtin_nan(""), __builtin_inf(), -__builtin_inf(), 1e30,
        -1e30, 0x1p63, -0x1p63, 0x1p64, -0.5, 255.5};
    for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++)
        for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
            char attributes[64];
            (void)snprintf(attributes, sizeof attributes, "{to=%s}", targets[t]);
            DeviceCall call = {.operator_name = "Cast", .attributes = attributes, .input_count = 1};
            call.inputs[0] = device_tensor(dtypes[d], wild, 1, 10);
            uint64_t hash;
            ErrorCode code = run_everywhere(&call, &hash);
            assert_true(code == ERROR_NONE || code == ERROR_UNSUPPORTED);
        }
}

/* One shape-giving input; sizes that overflow in every way. */
static void test_shapes_that_overflow_are_refused(void **state) {
    (void)state;
    static const int64_t big = INT64_C(1) << 40;
    static const struct {
        const char *name, *attributes;
        int64_t values[4];
        uint32_t count;
        bool shape_first; /* ConstantOfShape: the shape is input 0 */
    } rows[] = {
        {"Expand", NULL, {big, big, 2, 3}, 4, false},
        {"Expand", NULL, {-1, 2, 2, 3}, 4, false},
        {"Tile", NULL, {big, big}, 2, false},
        {"Tile", NULL, {INT64_MAX, 1}, 2, false},
        {"Tile", NULL, {-1, 1}, 2, false},
        {"Reshape", NULL, {big, -1}, 2, false},
        {"Reshape", NULL, {-1, -1}, 2, false},
        {"Reshape", NULL, {-2, 3}, 2, false},
        {"Reshape", NULL, {INT64_MAX, INT64_MAX}, 2, false},
        {"Reshape", "{allowzero=1}", {0, -1}, 2, false},
        {"Pad", NULL, {INT64_MAX, 0, 0, 0}, 4, false},
        {"Pad", NULL, {INT64_MAX / 4, 0, 0, 0}, 4, false},
        {"Pad", NULL, {INT64_MIN, 0, 0, 0}, 4, false},
        {"Pad", NULL, {-3, 0, 1, 0}, 4, false},
        {"Pad", "{mode=\"reflect\"}", {2, 0, 0, 0}, 4, false},
        {"ConstantOfShape", NULL, {big, big}, 2, true},
        {"ConstantOfShape", NULL, {-1}, 1, true},
        {"Unsqueeze", NULL, {7}, 1, false},
        {"Unsqueeze", NULL, {0, 0}, 2, false},
        {"Squeeze", NULL, {0}, 1, false},
        {"TopK", NULL, {4}, 1, false},
        {"TopK", NULL, {-1}, 1, false},
        {"Split", NULL, {INT64_MAX, INT64_MAX}, 2, false},
        {"Split", NULL, {-1, 3}, 2, false},
        {"ReduceSum", NULL, {2}, 1, false},
        {"ReduceSum", NULL, {0, -2}, 2, false},
        {"CumSum", NULL, {INT64_MIN}, 1, false},
        {"Slice", NULL, {0}, 1, false},
    };
    Shape data = {.rank = 2, .dims = {2, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t count = rows[i].count;
        DeviceCall call = {.operator_name = rows[i].name, .attributes = rows[i].attributes};
        if (!rows[i].shape_first)
            call.inputs[call.input_count++] = device_tensor_random(DTYPE_FLOAT32, &data, 0, 1, 1);
        call.inputs[call.input_count++] = int64_tensor(1, &count, rows[i].values);
        call.output_count =
            strcmp(rows[i].name, "TopK") == 0 || strcmp(rows[i].name, "Split") == 0 ? 2 : 1;
        ErrorCode code = run_everywhere(&call, NULL);
        if (code != ERROR_INVALID)
            fail_msg("row %zu (%s) ended with %s", i, rows[i].name, error_info(code)->name);
    }
}

static void test_ranges_without_end_are_refused(void **state) {
    (void)state;
    static const double rows[][3] = {{0, 1, 0}, {0, 1e300, 1e-300}, {0, 0x1p60, 1}, {0, 10, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        DeviceCall call = {.operator_name = "Range", .input_count = 3};
        for (uint32_t j = 0; j < 3; j++)
            call.inputs[j] = device_tensor(i == 3 ? DTYPE_INT64 : DTYPE_FLOAT64, &rows[i][j], 0);
        assert_int_equal(run_everywhere(&call, NULL), ERROR_INVALID);
    }
}

/* A window as large as numbers go must not wrap into a small one. */
static void test_convolutions_with_wild_windows_are_refused(void **state) {
    (void)state;
    static const char *const attributes[] = {"{pads=[2147483648, 0, 0, 0]}", "{pads=[-1, 0, 0, 0]}",
        "{strides=[0, 1]}", "{strides=[1, 1, 1]}", "{dilations=[2147483647, 2147483647]}",
        "{dilations=[9223372036854775807, 1]}", "{group=0}", "{group=-1}", "{group=3}",
        "{kernel_shape=[5, 5]}", "{auto_pad=\"SOME\"}"};
    Shape x = {.rank = 4, .dims = {1, 2, 5, 5}}, w = {.rank = 4, .dims = {4, 2, 3, 3}};
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        DeviceCall call = {.operator_name = "Conv", .attributes = attributes[i], .input_count = 2};
        call.inputs[0] = device_tensor_random(DTYPE_FLOAT32, &x, 0, 1, 1);
        call.inputs[1] = device_tensor_random(DTYPE_FLOAT32, &w, 0, 1, 1);
        ErrorCode code = run_everywhere(&call, NULL);
        if (code != ERROR_INVALID)
            fail_msg("%s ended with %s", attributes[i], error_info(code)->name);
    }
}

int test_hostile(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indices_out_of_range_are_refused),
        cmocka_unit_test(test_networks_meet_wild_indices),
        cmocka_unit_test(test_gather_from_empty_data),
        cmocka_unit_test(test_one_hot_of_wild_indices_is_cold),
        cmocka_unit_test(test_slice_takes_any_bounds),
        cmocka_unit_test(test_integer_division_never_traps),
        cmocka_unit_test(test_casts_of_wild_floats_never_trap),
        cmocka_unit_test(test_shapes_that_overflow_are_refused),
        cmocka_unit_test(test_ranges_without_end_are_refused),
        cmocka_unit_test(test_convolutions_with_wild_windows_are_refused),
    };
    return cmocka_run_group_tests_name("hostile", tests, open_devices, close_devices);
}
