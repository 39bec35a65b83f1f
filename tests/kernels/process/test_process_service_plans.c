#include "kernels/operator/operator.h"
#include "tests/kernels/fixtures/process_fixture.h"

static const TensorSpec vector = {true, DTYPE_FLOAT32, 0, {1, {4}}};

static Error *plan_relu(ProcessFixture *fixture, const TensorSpec *input, uint64_t *out_id) {
    OWN(Attributes, attributes) = NULL;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_RELU)));
    const PlanRequest request = {.operator_info = operator_get(OPERATOR_RELU),
        .attributes = attributes,
        .input_count = 1,
        .output_count = 1,
        .inputs = input};
    process_wire_write_request(&head, &request);
    TRY(process_channel_call(
        &fixture->channel, PROCESS_CALL_PLAN, &head, (ProcessBytes){0}, &answer));
    ByteReader reader = byte_reader(answer.data, answer.size);
    return byte_read_u64(&reader, out_id);
}

static Error *launch(ProcessFixture *fixture, uint64_t plan, uint32_t inputs, uint64_t address) {
    const uint64_t addresses[] = {address, address};
    const Plan shape_of_it = {.input_count = inputs, .output_count = 1};
    const Launch it = {.inputs = addresses, .outputs = addresses, .threads = 1};
    ByteWriter OWN_BYTES(head) = {0};
    process_wire_write_launch(&head, plan, &shape_of_it, &it, NULL);
    return process_channel_post(&fixture->channel, PROCESS_CALL_LAUNCH, &head, (ProcessBytes){0});
}

static Error *settle(ProcessFixture *fixture) {
    return process_fixture_call(fixture, PROCESS_CALL_SYNCHRONIZE, 0, NULL, NULL);
}

static void test_process_serve_launch_runs_the_plan_until_it_is_released(void **state) {
    (void)state;
    ProcessFixture fixture;
    uint64_t plan, address;
    float values[4] = {-1, 2, -3, 4};
    const uint64_t wanted[] = {sizeof values, 0};
    ByteWriter OWN_BYTES(head) = {0};
    process_fixture_init(&fixture, "sim:0");
    assert_ok(plan_relu(&fixture, &vector, &plan));
    assert_ok(process_fixture_call(&fixture, PROCESS_CALL_ALLOC, 2, wanted, &address));
    byte_write_u64(&head, address);
    assert_ok(process_channel_post(&fixture.channel, PROCESS_CALL_COPY_FROM_HOST, &head,
        (ProcessBytes){values, sizeof values}));
    const uint64_t release[] = {plan, 2};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_PLAN_RELEASE, 2, release));
    assert_ok(launch(&fixture, plan, 1, address));
    assert_ok(launch(&fixture, plan, 1, address));
    assert_ok(settle(&fixture));
    byte_write_u64(&head, sizeof values);
    assert_ok(process_channel_read(
        &fixture.channel, PROCESS_CALL_COPY_TO_HOST, &head, values, sizeof values));
    for (int i = 0; i < 4; i++) assert_true(values[i] == (i % 2 ? (float)i + 1 : 0));
    assert_ok(launch(&fixture, plan, 1, address));
    assert_fails(CORRUPT, settle(&fixture));
    const uint64_t back[] = {address, sizeof values};
    assert_ok(process_fixture_post(&fixture, PROCESS_CALL_FREE, 2, back));
    process_fixture_deinit(&fixture);
}

static void test_process_serve_launch_must_be_of_its_plan(void **state) {
    (void)state;
    ProcessFixture fixture;
    uint64_t plan;
    process_fixture_init(&fixture, "sim:0");
    assert_ok(plan_relu(&fixture, &vector, &plan));
    assert_ok(launch(&fixture, plan, 2, 64));
    assert_fails_saying(CORRUPT, "not of its plan", settle(&fixture));
    assert_ok(launch(&fixture, plan, 1, 64));
    assert_fails(INTERNAL, settle(&fixture)); /* sim: in no allocation */
    ByteWriter OWN_BYTES(head) = {0};
    const uint64_t address = 64;
    const Plan shape_of_it = {.input_count = 1};
    const Launch it = {.inputs = &address};
    process_wire_write_launch(&head, plan, &shape_of_it, &it, NULL);
    assert_fails(CORRUPT, process_channel_call(&fixture.channel, PROCESS_CALL_MEASURE, &head,
                              (ProcessBytes){0}, NULL));
    process_fixture_deinit(&fixture);
}

/* A request whose values fill more than a record. */
static void test_process_serve_plan_takes_requests_in_pieces(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    static int64_t ends[COUNT];
    const TensorSpec inputs[] = {vector, {true, DTYPE_INT64, 0, {1, {COUNT}}}};
    const void *const values[] = {NULL, ends};
    ProcessFixture fixture;
    OWN(Attributes, attributes) = NULL;
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_RESHAPE)));
    const PlanRequest request = {.operator_info = operator_get(OPERATOR_RESHAPE),
        .attributes = attributes,
        .input_count = 2,
        .output_count = 1,
        .inputs = inputs,
        .values = values};
    process_fixture_init(&fixture, "sim:0");
    process_wire_write_request(&head, &request);
    assert_true(head.size > RING_PAYLOAD_MAX);
    for (int i = 0; i < 2; i++) /* the pieces of the first are not there any more */
        assert_fails_saying(INVALID, "Reshape",
            process_channel_call(
                &fixture.channel, PROCESS_CALL_PLAN, &head, (ProcessBytes){0}, &answer));
    process_fixture_deinit(&fixture);
}

static void test_process_serve_pack_wants_the_constant_whole(void **state) {
    (void)state;
    static const float plain[64 * 64];
    ProcessFixture fixture;
    OWN(Attributes, attributes) = NULL;
    ByteWriter OWN_BYTES(head) = {0};
    assert_ok(attributes_create(&attributes));
    assert_ok(attributes_check(attributes, operator_get(OPERATOR_MATMUL)));
    const PackRequest request = {
        operator_get(OPERATOR_MATMUL), attributes, 1, {true, DTYPE_FLOAT32, 0, {2, {64, 64}}}};
    process_fixture_init(&fixture, "sim:0");
    byte_write_u32(&head, 1);
    byte_write_u64(&head, 64);
    process_wire_write_pack(&head, &request);
    for (size_t size = 0; size < sizeof plain; size += sizeof plain / 2)
        assert_fails_saying(CORRUPT, "another size",
            process_channel_call(
                &fixture.channel, PROCESS_CALL_PACK, &head, (ProcessBytes){plain, size}, NULL));
    process_fixture_deinit(&fixture);
}

int test_process_service_plans(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_serve_launch_runs_the_plan_until_it_is_released),
        cmocka_unit_test(test_process_serve_launch_must_be_of_its_plan),
        cmocka_unit_test(test_process_serve_plan_takes_requests_in_pieces),
        cmocka_unit_test(test_process_serve_pack_wants_the_constant_whole),
    };
    return cmocka_run_group_tests_name("process_service_plans", tests, NULL, NULL);
}
