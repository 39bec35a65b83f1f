#include "kernels/process/process_wire.h"

#include "base/allocator.h"
#include "kernels/operator/operator.h"
#include "kernels/shape_rules/operator_infer.h"
#include "tests/support/test_support.h"

enum { FLIPS = 20000 };

/* A Reshape, whose rule reads a value, and a Conv with attributes. */
typedef struct Sample {
    OperatorId id;
    const char *attributes;
    uint32_t input_count;
    TensorSpec inputs[3];
    const void *values[3];
} Sample;

static const int64_t target[2] = {3, -1};

static const Sample samples[] = {
    {OPERATOR_RESHAPE, "{}", 2,
        {{true, DTYPE_FLOAT32, 0, {2, {2, 6}}}, {true, DTYPE_INT64, 0, {1, {2}}}}, {NULL, target}},
    {OPERATOR_CONV, "{pads=[1, 1, 1, 1]}", 3,
        {{true, DTYPE_FLOAT32, 0, {4, {1, 2, 5, 5}}}, {true, DTYPE_FLOAT32, 0, {4, {4, 2, 3, 3}}}},
        {NULL}},
    {OPERATOR_NON_ZERO, "{}", 1, {{true, DTYPE_FLOAT32, 0, {2, {2, 6}}}}, {NULL}},
};
enum { SAMPLE_COUNT = sizeof samples / sizeof samples[0] };

static void make(const Sample *sample, Attributes **out_attributes, PlanRequest *out) {
    const char *text = sample->attributes;
    const OperatorInfo *info = operator_get(sample->id);
    assert_ok(attributes_parse(&text, out_attributes));
    assert_ok(attributes_check(*out_attributes, info));
    *out = (PlanRequest){.operator_info = info,
        .attributes = *out_attributes,
        .input_count = sample->input_count,
        .output_count = 1,
        .inputs = sample->inputs,
        .values = sample->values};
    assert_ok(operator_infer(out));
}

static Error *read_request(const uint8_t *bytes, size_t size, WireRequest *out) {
    ByteReader reader = byte_reader(bytes, size);
    return process_wire_read_request(&reader, out);
}

static void test_process_wire_request_comes_back(void **state) {
    (void)state;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        OWN(Attributes, attributes) = NULL;
        PlanRequest request;
        WireRequest *read = test_calloc(1, sizeof *read);
        ByteWriter OWN_BYTES(bytes) = {0};
        make(&samples[i], &attributes, &request);
        process_wire_write_request(&bytes, &request);
        assert_ok(read_request(bytes.data, bytes.size, read));
        assert_ptr_equal(read->request.operator_info, request.operator_info);
        assert_true(attributes_equal(read->request.attributes, attributes));
        assert_int_equal(read->request.input_count, request.input_count);
        assert_memory_equal(read->inputs, request.inputs, request.input_count * sizeof(TensorSpec));
        assert_memory_equal(read->request.outputs, request.outputs, sizeof(TensorSpec));
        wire_request_deinit(read);
        test_free(read);
    }
}

/* A damaged request is refused, or another request that any kernel may be given. */
static void check_damaged(const uint8_t *bytes, size_t size) {
    WireRequest *read = test_calloc(1, sizeof *read);
    Error *error = read_request(bytes, size, read);
    ErrorCode code = error_code(error);
    assert_true(code == ERROR_NONE || code == ERROR_CORRUPT || code == ERROR_INVALID ||
                code == ERROR_UNSUPPORTED);
    error_free(error);
    wire_request_deinit(read);
    test_free(read);
}

static void test_process_wire_request_may_be_damaged(void **state) {
    (void)state;
    uint64_t seed = 9;
    for (size_t i = 0; i < SAMPLE_COUNT; i++) {
        OWN(Attributes, attributes) = NULL;
        PlanRequest request;
        ByteWriter OWN_BYTES(bytes) = {0};
        make(&samples[i], &attributes, &request);
        process_wire_write_request(&bytes, &request);
        WireRequest *read = test_calloc(1, sizeof *read);
        for (size_t size = 0; size < bytes.size; size++) {
            assert_fails(CORRUPT, read_request(bytes.data, size, read));
            wire_request_deinit(read);
        }
        test_free(read);
        for (uint32_t flip = 0; flip < FLIPS / 10; flip++) {
            size_t at = test_random(&seed) % bytes.size;
            uint8_t before = bytes.data[at];
            bytes.data[at] = (uint8_t)test_random(&seed);
            check_damaged(bytes.data, bytes.size);
            bytes.data[at] = before;
        }
    }
}

static void test_process_wire_pack_may_be_damaged(void **state) {
    (void)state;
    uint64_t seed = 4;
    OWN(Attributes, attributes) = NULL;
    PlanRequest request;
    ByteWriter OWN_BYTES(bytes) = {0};
    make(&samples[1], &attributes, &request);
    const PackRequest pack = {request.operator_info, attributes, 1, request.inputs[1]};
    process_wire_write_pack(&bytes, &pack);
    for (uint32_t flip = 0; flip < FLIPS; flip++) {
        PackRequest read;
        OWN(Attributes, read_attributes) = NULL;
        size_t size = flip < bytes.size ? flip : bytes.size;
        size_t at = test_random(&seed) % bytes.size;
        uint8_t before = bytes.data[at];
        if (size == bytes.size && flip != bytes.size) bytes.data[at] = (uint8_t)test_random(&seed);
        ByteReader reader = byte_reader(bytes.data, size);
        Error *error = process_wire_read_pack(&reader, &read, &read_attributes);
        if (size < bytes.size) assert_int_equal(error_code(error), ERROR_CORRUPT);
        if (flip == bytes.size) assert_ok(error);
        if (flip == bytes.size) error = NULL;
        error_free(error);
        bytes.data[at] = before;
    }
}

static void test_process_wire_launch_comes_back_or_is_refused(void **state) {
    (void)state;
    uint64_t seed = 8;
    const uint64_t inputs[] = {64, 128}, outputs[] = {192};
    const Shape shape = {2, {3, 4}};
    const Plan plan = {.input_count = 2, .output_count = 1};
    const Launch launch = {.inputs = inputs, .outputs = outputs, .workspace = 256, .threads = 3};
    ByteWriter OWN_BYTES(bytes) = {0};
    WireLaunch *read = test_calloc(1, sizeof *read);
    process_wire_write_launch(&bytes, 77, &plan, &launch, &shape);
    for (size_t size = 0; size <= bytes.size; size++) {
        ByteReader reader = byte_reader(bytes.data, size);
        if (size < bytes.size)
            assert_fails(CORRUPT, process_wire_read_launch(&reader, read));
        else
            assert_ok(process_wire_read_launch(&reader, read));
    }
    assert_int_equal(read->plan, 77);
    assert_int_equal(read->launch.workspace, 256);
    assert_int_equal(read->launch.threads, 3);
    assert_memory_equal(read->inputs, inputs, sizeof inputs);
    assert_true(read->has_shapes && shape_equal(&read->shapes[0], &shape));
    for (uint32_t flip = 0; flip < FLIPS; flip++) {
        size_t at = test_random(&seed) % bytes.size;
        uint8_t before = bytes.data[at];
        bytes.data[at] = (uint8_t)test_random(&seed);
        ByteReader reader = byte_reader(bytes.data, bytes.size);
        Error *error = process_wire_read_launch(&reader, read);
        if (error) assert_int_equal(error_code(error), ERROR_CORRUPT);
        error_free(error);
        bytes.data[at] = before;
    }
    test_free(read);
}

/* ---- what the parent reads ---- */

static Error *read_plan(
    const Plan *plan, const PlanRequest *request, uint64_t in_place, WirePlan *out) {
    ByteWriter OWN_BYTES(bytes) = {0};
    process_wire_write_plan(&bytes, 5, plan);
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    TRY(process_wire_read_plan(&reader, request, in_place, out));
    memory_free(out->kernel_name);
    return NULL;
}

static Error *measure_nothing(const Plan *plan, const Launch *launch, Shape *out_shapes) {
    (void)plan, (void)launch, (void)out_shapes;
    return NULL;
}

static void test_process_wire_plan_is_believed_as_far_as_it_can_be(void **state) {
    (void)state;
    OWN(Attributes, reshape_attributes) = NULL;
    OWN(Attributes, conv_attributes) = NULL;
    OWN(Attributes, non_zero_attributes) = NULL;
    PlanRequest reshape, conv, non_zero;
    WirePlan facts;
    make(&samples[0], &reshape_attributes, &reshape);
    make(&samples[1], &conv_attributes, &conv);
    make(&samples[2], &non_zero_attributes, &non_zero);
    const Plan view = {.kernel_name = "view", .view = true};
    const Plan plain = {.kernel_name = "x", .workspace_bytes = 4096, .philox_draws = 3};
    const Plan huge = {.kernel_name = "x", .workspace_bytes = UINT64_MAX};
    const Plan over = {.kernel_name = "x", .in_place = 2};
    const Plan measured = {.kernel_name = "x", .measure = measure_nothing};
    assert_ok(read_plan(&view, &reshape, 0, &facts));
    assert_true(facts.view && !facts.measures && facts.id == 5);
    assert_ok(read_plan(&plain, &conv, 0, &facts));
    assert_true(facts.workspace_bytes == 4096 && facts.philox_draws == 3);
    assert_ok(read_plan(&over, &conv, 3, &facts));
    assert_ok(read_plan(&measured, &non_zero, 0, &facts));
    assert_fails(CORRUPT, read_plan(&view, &conv, 0, &facts)); /* another size */
    assert_fails(CORRUPT, read_plan(&huge, &conv, 0, &facts));
    assert_fails(CORRUPT, read_plan(&over, &conv, 1, &facts));
    assert_fails(CORRUPT, read_plan(&measured, &conv, 0, &facts));
    assert_fails(CORRUPT, read_plan(&plain, &non_zero, 0, &facts));
}

static void test_process_wire_plan_may_be_damaged(void **state) {
    (void)state;
    uint64_t seed = 2;
    OWN(Attributes, attributes) = NULL;
    PlanRequest request;
    make(&samples[1], &attributes, &request);
    const Plan plan = {.kernel_name = "conv", .workspace_bytes = 4096};
    ByteWriter OWN_BYTES(bytes) = {0};
    process_wire_write_plan(&bytes, 5, &plan);
    for (uint32_t i = 0; i < FLIPS; i++) {
        WirePlan facts;
        size_t size = i < bytes.size ? i : bytes.size, at = test_random(&seed) % bytes.size;
        uint8_t before = bytes.data[at];
        if (size == bytes.size) bytes.data[at] = (uint8_t)test_random(&seed);
        ByteReader reader = byte_reader(bytes.data, size);
        Error *error = process_wire_read_plan(&reader, &request, 0, &facts);
        if (size < bytes.size) assert_int_equal(error_code(error), ERROR_CORRUPT);
        if (!error) memory_free(facts.kernel_name);
        error_free(error);
        bytes.data[at] = before;
    }
}

static Error *read_shapes(const Plan *plan, const Shape *shape, Shape *out) {
    ByteWriter OWN_BYTES(bytes) = {0};
    process_wire_write_shapes(&bytes, shape, 1);
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    return process_wire_read_shapes(&reader, plan, out);
}

static void test_process_wire_shapes_fit_the_plan(void **state) {
    (void)state;
    const TensorSpec output = {true, DTYPE_INT64, 0, {2, {2, -1}}};
    const Plan plan = {.output_count = 1, .outputs = &output};
    const Shape good = {2, {2, 9}}, other = {2, {3, 9}}, flat = {1, {9}}, negative = {2, {2, -1}},
                huge = {2, {2, INT64_MAX / 4}};
    Shape read;
    assert_ok(read_shapes(&plan, &good, &read));
    assert_true(shape_equal(&read, &good));
    assert_fails(CORRUPT, read_shapes(&plan, &other, &read));
    assert_fails(CORRUPT, read_shapes(&plan, &flat, &read));
    assert_fails(CORRUPT, read_shapes(&plan, &negative, &read));
    assert_fails(CORRUPT, read_shapes(&plan, &huge, &read));
}

static void test_process_wire_error_comes_back(void **state) {
    (void)state;
    char message[2000];
    memset(message, 'm', sizeof message);
    message[sizeof message - 1] = 0;
    memcpy(message + 1021, "\xe2\x82\xac", 3); /* cut within a character */
    ByteWriter OWN_BYTES(bytes) = {0};
    Error *error = error_make(ERROR_EXHAUSTED, __FILE__, __LINE__, "%s", message), *sent = NULL;
    process_wire_write_error(&bytes, error);
    error_free(error);
    ByteReader reader = byte_reader(bytes.data, bytes.size);
    assert_ok(process_wire_read_error(&reader, &sent));
    assert_int_equal(strlen(error_message(sent)), 1021);
    assert_fails(EXHAUSTED, sent);
    for (uint32_t code = 0; code < 64; code += 63) { /* none, and one that there is not */
        memcpy(bytes.data, &code, sizeof code);
        reader = byte_reader(bytes.data, bytes.size);
        assert_fails(CORRUPT, process_wire_read_error(&reader, &sent));
    }
    reader = byte_reader(bytes.data, bytes.size - 1);
    assert_fails(CORRUPT, process_wire_read_error(&reader, &sent));
}

int test_process_wire(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_wire_request_comes_back),
        cmocka_unit_test(test_process_wire_request_may_be_damaged),
        cmocka_unit_test(test_process_wire_pack_may_be_damaged),
        cmocka_unit_test(test_process_wire_launch_comes_back_or_is_refused),
        cmocka_unit_test(test_process_wire_plan_is_believed_as_far_as_it_can_be),
        cmocka_unit_test(test_process_wire_plan_may_be_damaged),
        cmocka_unit_test(test_process_wire_shapes_fit_the_plan),
        cmocka_unit_test(test_process_wire_error_comes_back),
    };
    return cmocka_run_group_tests_name("process_wire", tests, NULL, NULL);
}
