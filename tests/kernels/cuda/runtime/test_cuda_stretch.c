#include "kernels/cuda/runtime/cuda_stretch.h"

#include <pthread.h>
#include <stdlib.h>

#include "tests/kernels/fixtures/cuda_turn_fixture.h"
#include "tests/support/fake_cuda/fake_control.h"

#define LETTERS "dcnddc"
enum { LETTER_COUNT = sizeof LETTERS - 1, KERNEL_COUNT = 4, WARM_TURNS = 2, THREADS = 2 };

typedef struct StretchFixture {
    Device *device;
    CudaTurns turns;
    FakeControl *control;
    FakeControl before; /* counts when it began */
} StretchFixture;

static void stretch_init(StretchFixture *fixture, const char *options) {
    fixture->device = cuda_device_fixture_get(options);
    cuda_turns_init(&fixture->turns, fixture->device);
    fixture->control = fake_control_find();
    fixture->before = *fixture->control;
}

static void stretch_deinit(StretchFixture *fixture) {
    cuda_turns_deinit(&fixture->turns);
    assert_int_equal(atomic_load(&cuda_device(fixture->device)->used_bytes), 0);
    device_close(fixture->device);
    assert_int_equal(fixture->control->graphs, 0);
    assert_int_equal(fixture->control->mistakes, fixture->before.mistakes);
    fixture->control->fail_nth = 0;
}

#define assert_counted(fixture, name, number)                                                      \
    assert_int_equal((fixture)->control->name - (fixture)->before.name, (number))

static void run_turns(StretchFixture *fixture, const char *letters, int count) {
    for (int i = 0; i < count; i++) assert_ok(cuda_turns_run(&fixture->turns, letters));
}

/* Twice launch by launch, then as one: made once, and after that with other addresses. */
static void test_cuda_stretch_that_comes_back_is_one_launch(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, LETTERS, WARM_TURNS);
    assert_counted(&fixture, captures, 0);
    for (uint64_t i = 1; i <= 5; i++) {
        run_turns(&fixture, LETTERS, 1);
        assert_counted(&fixture, captures, i);
        assert_counted(&fixture, graph_launches, i);
        assert_counted(&fixture, updates, i - 1);
        assert_counted(&fixture, instantiations, 1);
    }
    assert_counted(&fixture, kernels, (WARM_TURNS + 5) * KERNEL_COUNT);
    stretch_deinit(&fixture);
}

static void test_cuda_stretch_is_off_unless_asked_for(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "");
    run_turns(&fixture, LETTERS, 5);
    assert_counted(&fixture, captures, 0);
    stretch_deinit(&fixture);
}

static void test_cuda_stretch_of_few_launches_is_no_graph(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, "dcn", 5);
    assert_counted(&fixture, captures, 0);
    run_turns(&fixture, "dcnd", 3);
    assert_counted(&fixture, captures, 1);
    stretch_deinit(&fixture);
}

/* The GPU has the first of a long turn while the next are recorded. */
static void test_cuda_stretch_of_many_launches_is_cut(void **state) {
    (void)state;
    StretchFixture fixture;
    char letters[2 * CUDA_STRETCH_LAUNCHES_MAX + 6] = {0};
    memset(letters, 'n', sizeof letters - 1);
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, letters, 4);
    fixture.before = *fixture.control;
    assert_ok(cuda_turns_start(&fixture.turns));
    letters[CUDA_STRETCH_LAUNCHES_MAX] = 0;
    assert_ok(cuda_turns_launch(&fixture.turns, letters));
    assert_counted(&fixture, graph_launches, 0);
    letters[CUDA_STRETCH_LAUNCHES_MAX] = 'n';
    assert_ok(cuda_turns_launch(&fixture.turns, letters + CUDA_STRETCH_LAUNCHES_MAX));
    assert_counted(&fixture, graph_launches, 2);
    assert_ok(cuda_turns_read(&fixture.turns));
    assert_counted(&fixture, graph_launches, 3);
    assert_counted(&fixture, instantiations, 0);
    stretch_deinit(&fixture);
}

/* Something else than was due runs once, from what was captured; then it has to prove itself. */
static void test_cuda_stretch_that_is_a_surprise_runs_once(void **state) {
    (void)state;
    static const char *const surprises[] = {"d", "dcnddcd", "nnnn", "cdcdcd", LETTERS LETTERS};
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, LETTERS, 4);
    for (size_t i = 0; i < sizeof surprises / sizeof surprises[0]; i++) {
        run_turns(&fixture, surprises[i], 1);
        run_turns(&fixture, LETTERS, 1);
    }
    assert_counted(&fixture, captures, 3); /* two that were due, one that was not */
    run_turns(&fixture, LETTERS, 3);
    assert_counted(&fixture, captures, 4);
    stretch_deinit(&fixture);
}

/* Each of 128 has its turns, and few are kept. */
static void test_cuda_stretch_keeps_the_last_used_graphs(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    for (unsigned kind = 0; kind < 2 * CUDA_STRETCH_KEPT_MAX; kind++) {
        char letters[8] = {0};
        for (int i = 0; i < 7; i++) letters[i] = kind >> i & 1 ? 'c' : 'd';
        run_turns(&fixture, letters, 4);
        assert_true(fixture.control->graphs <= CUDA_STRETCH_KEPT_MAX);
    }
    assert_int_equal(fixture.control->graphs, CUDA_STRETCH_KEPT_MAX);
    assert_true(fixture.control->instantiations > CUDA_STRETCH_KEPT_MAX);
    stretch_deinit(&fixture);
}

/* The driver may refuse an update: a new one is made, until it has refused too often. */
static void test_cuda_stretch_that_cannot_be_updated_is_made_anew(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, LETTERS, WARM_TURNS + 1);
    for (uint64_t i = 1; i <= CUDA_STRETCH_REFUSALS_MAX; i++) {
        fixture.control->fail_function = "cuGraphExecUpdate_v2";
        fixture.control->fail_result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        fixture.control->fail_nth = 1;
        run_turns(&fixture, LETTERS, 1);
        assert_counted(&fixture, instantiations, 1 + i);
    }
    fixture.before = *fixture.control;
    run_turns(&fixture, LETTERS, 3);
    assert_counted(&fixture, captures, 0);
    assert_counted(&fixture, kernels, 3 * KERNEL_COUNT);
    stretch_deinit(&fixture);
}

/* Memory for it is made, of the other graphs and of what the pool holds. */
static void test_cuda_stretch_makes_room_for_a_graph(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    run_turns(&fixture, "cccc", WARM_TURNS + 1);
    fixture.control->fail_function = "cuGraphInstantiateWithFlags";
    fixture.control->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
    fixture.control->fail_nth = 1;
    run_turns(&fixture, LETTERS, 1); /* a surprise */
    assert_int_equal(fixture.control->fail_nth, 0);
    assert_int_equal(fixture.control->graphs, 1);
    stretch_deinit(&fixture);
}

/* ---- what has to stand behind recorded launches ---- */

static void test_cuda_stretch_is_ahead_of_events_and_copies(void **state) {
    (void)state;
    StretchFixture fixture;
    CudaTurns other;
    DeviceEvent *event;
    float number = 0;
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "200");
    stretch_init(&fixture, "graphs=on");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    CudaTurns *turns = &fixture.turns;
    const DeviceClass *class_ = fixture.device->class_;
    cuda_turns_init(&other, fixture.device);
    assert_ok(class_->event_create(fixture.device, &event));
    run_turns(&fixture, LETTERS, WARM_TURNS);
    assert_ok(cuda_turns_start(turns));
    assert_ok(cuda_turns_launch(turns, LETTERS));
    assert_counted(&fixture, captures, 1);
    assert_counted(&fixture, graph_launches, 0);
    assert_ok(class_->event_record(fixture.device, event, turns->stream));
    assert_counted(&fixture, graph_launches, 1);
    assert_ok(class_->event_wait(fixture.device, event, other.stream));
    assert_ok(class_->copy_to_host(
        fixture.device, other.stream, &number, turns->blocks[turns->at], sizeof number));
    assert_true(number == turns->expected);
    run_turns(&fixture, LETTERS, 2);
    assert_ok(cuda_turns_start(turns)); /* the upload goes over what a recorded launch reads */
    assert_ok(cuda_turns_launch(turns, LETTERS));
    uint32_t at = turns->at, start = turns->count % CUDA_TURN_BLOCKS;
    float made = turns->expected, zero = 0;
    assert_ok(class_->copy_from_host(
        fixture.device, turns->stream, turns->blocks[start], &zero, sizeof zero));
    assert_ok(class_->copy_to_host(
        fixture.device, turns->stream, &number, turns->blocks[at], sizeof number));
    assert_true(number == made);
    class_->event_destroy(fixture.device, event);
    cuda_turns_deinit(&other);
    stretch_deinit(&fixture);
}

/* A fresh block is zero for the launches behind it and does not end the stretch; one that is given
 * back does, since the next owner may be anyone. */
static void test_cuda_stretch_goes_on_over_an_allocation(void **state) {
    (void)state;
    enum { SIZE = 400 };
    StretchFixture fixture;
    uint64_t block;
    stretch_init(&fixture, "graphs=on");
    CudaTurns *turns = &fixture.turns;
    const DeviceClass *class_ = fixture.device->class_;
    for (int i = 0; i < 5; i++) {
        assert_ok(cuda_turns_start(turns));
        assert_ok(cuda_turns_launch(turns, "dcd"));
        assert_ok(class_->alloc(fixture.device, turns->stream, SIZE, &block));
        assert_ok(
            class_->copy(fixture.device, turns->stream, turns->blocks[turns->at], block, SIZE));
        assert_ok(class_->copy(fixture.device, turns->stream, block, turns->blocks[0], SIZE));
        turns->expected = 0;
        assert_counted(&fixture, graph_launches, i < WARM_TURNS ? 0 : i - WARM_TURNS);
        class_->free(fixture.device, turns->stream, block, SIZE);
        assert_counted(&fixture, graph_launches, i < WARM_TURNS ? 0 : i - WARM_TURNS + 1);
        assert_ok(cuda_turns_read(turns));
    }
    stretch_deinit(&fixture);
}

/* A value that the host writes is one of the launches, and another one in each turn. */
static void test_cuda_stretch_goes_on_over_a_scalar(void **state) {
    (void)state;
    StretchFixture fixture;
    stretch_init(&fixture, "graphs=on");
    CudaTurns *turns = &fixture.turns;
    const DeviceClass *class_ = fixture.device->class_;
    for (int i = 0; i < 5; i++) {
        float number, scalar = (float)i + 0.5f;
        assert_ok(cuda_turns_start(turns));
        assert_ok(cuda_turns_launch(turns, "dc"));
        assert_ok(class_->copy_from_host(
            fixture.device, turns->stream, turns->blocks[turns->at], &scalar, sizeof scalar));
        assert_ok(cuda_turns_launch(turns, "dd"));
        assert_ok(class_->copy_to_host(
            fixture.device, turns->stream, &number, turns->blocks[turns->at], sizeof number));
        assert_true(number == 4 * scalar);
        assert_counted(&fixture, graph_launches, i < WARM_TURNS ? 0 : i - WARM_TURNS + 1);
    }
    stretch_deinit(&fixture);
}

/* What is given back behind recorded launches is there for an allocation of the same stream. */
static void test_cuda_stretch_ends_where_memory_is_short(void **state) {
    (void)state;
    enum { LARGE = 6 << 20 };
    StretchFixture fixture;
    uint64_t block, other;
    cuda_device_fixture_set("FAKE_CUDA_MEMORY", "8388608");
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", "500");
    stretch_init(&fixture, "graphs=on");
    cuda_device_fixture_set("FAKE_CUDA_MEMORY", NULL);
    cuda_device_fixture_set("FAKE_CUDA_LAG_US", NULL);
    CudaTurns *turns = &fixture.turns;
    const DeviceClass *class_ = fixture.device->class_;
    run_turns(&fixture, LETTERS, WARM_TURNS);
    assert_ok(class_->alloc(fixture.device, turns->stream, LARGE, &block));
    assert_ok(cuda_turns_start(turns));
    class_->free(fixture.device, turns->stream, block, LARGE);
    assert_ok(cuda_turns_launch(turns, LETTERS));
    assert_counted(&fixture, captures, 1);
    assert_ok(class_->alloc(fixture.device, turns->stream, LARGE, &other));
    assert_counted(&fixture, graph_launches, 1);
    assert_ok(cuda_turns_read(turns));
    class_->free(fixture.device, turns->stream, other, LARGE);
    stretch_deinit(&fixture);
}

/* Nothing recorded is forgotten with its stream. */
static void test_cuda_stretch_runs_when_its_stream_is_destroyed(void **state) {
    (void)state;
    StretchFixture fixture;
    CudaTurns other;
    stretch_init(&fixture, "graphs=on");
    cuda_turns_init(&other, fixture.device);
    for (int i = 0; i < WARM_TURNS; i++) assert_ok(cuda_turns_run(&other, LETTERS));
    assert_ok(cuda_turns_start(&other));
    assert_ok(cuda_turns_launch(&other, LETTERS));
    assert_counted(&fixture, captures, 1);
    fixture.device->class_->stream_destroy(fixture.device, other.stream);
    assert_counted(&fixture, graph_launches, 1);
    other.stream = fixture.turns.stream;
    assert_ok(cuda_turns_read(&other));
    assert_ok(fixture.device->class_->stream_create(fixture.device, &other.stream));
    cuda_turns_deinit(&other);
    stretch_deinit(&fixture);
}

/* ---- failures ---- */

/* What is queued on the turn's stream after an error is not waited for in vain. */
static Error *run_and_wait(CudaTurns *turns, const char *letters) {
    Error *error = cuda_turns_run(turns, letters);
    if (!error) return NULL;
    Error *told = turns->device->class_->stream_synchronize(turns->device, turns->stream);
    error_free(told); /* the same, or nothing */
    return error;
}

/* Every call of a turn that is captured fails once: either it is told, or the numbers are right;
 * and the next turns are as if nothing had been. */
static void fail_each_call(int result, ErrorCode code) {
    uint64_t nth = 0, fired;
    int errors = 0;
    do {
        StretchFixture fixture;
        stretch_init(&fixture, "graphs=on");
        run_turns(&fixture, LETTERS, WARM_TURNS + 1);
        fixture.control->fail_function = NULL;
        fixture.control->fail_result = result;
        fixture.control->fail_nth = ++nth;
        Error *error = run_and_wait(&fixture.turns, LETTERS);
        fired = fixture.control->fail_nth == 0;
        fixture.control->fail_nth = 0;
        if (error && error_code(error) != code)
            fail_msg("call %d: %s", (int)nth, error_message(error));
        errors += error != NULL;
        assert_true(fired || !error);
        if (code == ERROR_DEVICE_LOST && error)
            assert_fails_saying(
                DEVICE_LOST, "cuda:0 is lost", cuda_turns_run(&fixture.turns, LETTERS));
        else
            run_turns(&fixture, LETTERS, 3);
        error_free(error);
        stretch_deinit(&fixture);
    } while (fired);
    assert_true(errors > LETTER_COUNT); /* each launch's, and those of the graph */
}

static void test_cuda_stretch_tells_of_every_call_that_fails(void **state) {
    (void)state;
    fail_each_call(CUDA_ERROR_INVALID_VALUE, ERROR_FAILED);
    fail_each_call(CUDA_ERROR_ILLEGAL_ADDRESS, ERROR_DEVICE_LOST);
}

/* Launches that did not run are told of where the stream is waited for, once; until then nothing is
 * launched on what they should have made. */
static void test_cuda_stretch_names_what_did_not_run(void **state) {
    (void)state;
    static const char *const functions[] = {
        "cuStreamEndCapture", "cuGraphExecUpdate_v2", "cuGraphLaunch"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        StretchFixture fixture;
        stretch_init(&fixture, "graphs=on");
        CudaTurns *turns = &fixture.turns;
        const DeviceClass *class_ = fixture.device->class_;
        DeviceEvent *event;
        run_turns(&fixture, LETTERS, WARM_TURNS + 1);
        assert_ok(class_->event_create(fixture.device, &event));
        assert_ok(cuda_turns_start(turns));
        assert_ok(cuda_turns_launch(turns, LETTERS));
        fixture.control->fail_function = functions[i];
        fixture.control->fail_result = CUDA_ERROR_OUT_OF_MEMORY;
        fixture.control->fail_nth = 1;
        assert_ok(class_->event_record(fixture.device, event, turns->stream));
        static const char said[] = "6 launches from layover_pointwise to a copy did not run";
        assert_fails_saying(FAILED, said, cuda_turns_launch(turns, LETTERS));
        assert_fails_saying(FAILED, said, cuda_turns_read(turns));
        run_turns(&fixture, LETTERS, 3);
        class_->event_destroy(fixture.device, event);
        stretch_deinit(&fixture);
    }
}

/* A GPU that is lost while a stretch is recorded, or runs, is lost; everything can be given back.
 */
static void test_cuda_stretch_ends_with_a_lost_device(void **state) {
    (void)state;
    StretchFixture fixture;
    CudaTurns other;
    cuda_device_fixture_set("FAKE_CUDA_LOSE_AFTER", "15"); /* of the fourth turn, inside */
    stretch_init(&fixture, "graphs=on");
    cuda_device_fixture_set("FAKE_CUDA_LOSE_AFTER", NULL);
    run_turns(&fixture, LETTERS, 3);
    assert_fails_saying(
        DEVICE_LOST, "unspecified launch failure", cuda_turns_run(&fixture.turns, LETTERS));
    stretch_deinit(&fixture);

    stretch_init(&fixture, "graphs=on");
    cuda_turns_init(&other, fixture.device);
    run_turns(&fixture, LETTERS, 3);
    assert_ok(cuda_turns_start(&fixture.turns));
    assert_ok(cuda_turns_launch(&fixture.turns, LETTERS));
    assert_ok(fixture.device->class_->copy(/* beyond its block */
        fixture.device, other.stream, other.blocks[0], other.blocks[1], 1 << 20));
    assert_fails(
        DEVICE_LOST, fixture.device->class_->stream_synchronize(fixture.device, other.stream));
    assert_fails(DEVICE_LOST, cuda_turns_launch(&fixture.turns, LETTERS));
    assert_fails(DEVICE_LOST, cuda_turns_read(&fixture.turns));
    cuda_turns_deinit(&other);
    stretch_deinit(&fixture);
}

/* ---- threads ---- */

typedef struct Side {
    CudaTurns turns;
    int failures;
} Side;

static void *run_side(void *argument) {
    Side *side = argument;
    for (int i = 0; i < 20; i++) {
        Error *error = cuda_turns_run(&side->turns, i % 10 < 7 ? LETTERS : "ddnncc");
        side->failures += error != NULL;
        error_free(error);
    }
    return NULL;
}

/* One stream a thread; then each goes on on the other thread, as executions do. */
static void test_cuda_stretch_is_of_one_stream(void **state) {
    (void)state;
    StretchFixture fixture;
    Side sides[THREADS] = {0};
    pthread_t threads[THREADS];
    stretch_init(&fixture, "graphs=on");
    for (int i = 0; i < THREADS; i++) cuda_turns_init(&sides[i].turns, fixture.device);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, run_side, &sides[i]), 0);
        for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < THREADS; i++) { /* recorded here, ended there */
            assert_ok(cuda_turns_start(&sides[i].turns));
            assert_ok(cuda_turns_launch(&sides[i].turns, LETTERS));
        }
    }
    for (int i = 0; i < THREADS; i++) {
        assert_ok(cuda_turns_read(&sides[i].turns));
        assert_int_equal(sides[i].failures, 0);
        cuda_turns_deinit(&sides[i].turns);
    }
    assert_true(fixture.control->updates > fixture.before.updates);
    stretch_deinit(&fixture);
}

int test_cuda_stretch(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cuda_stretch_that_comes_back_is_one_launch),
        cmocka_unit_test(test_cuda_stretch_is_off_unless_asked_for),
        cmocka_unit_test(test_cuda_stretch_of_few_launches_is_no_graph),
        cmocka_unit_test(test_cuda_stretch_of_many_launches_is_cut),
        cmocka_unit_test(test_cuda_stretch_that_is_a_surprise_runs_once),
        cmocka_unit_test(test_cuda_stretch_keeps_the_last_used_graphs),
        cmocka_unit_test(test_cuda_stretch_that_cannot_be_updated_is_made_anew),
        cmocka_unit_test(test_cuda_stretch_makes_room_for_a_graph),
        cmocka_unit_test(test_cuda_stretch_is_ahead_of_events_and_copies),
        cmocka_unit_test(test_cuda_stretch_goes_on_over_an_allocation),
        cmocka_unit_test(test_cuda_stretch_goes_on_over_a_scalar),
        cmocka_unit_test(test_cuda_stretch_ends_where_memory_is_short),
        cmocka_unit_test(test_cuda_stretch_runs_when_its_stream_is_destroyed),
        cmocka_unit_test(test_cuda_stretch_tells_of_every_call_that_fails),
        cmocka_unit_test(test_cuda_stretch_names_what_did_not_run),
        cmocka_unit_test(test_cuda_stretch_ends_with_a_lost_device),
        cmocka_unit_test(test_cuda_stretch_is_of_one_stream),
    };
    return cmocka_run_group_tests_name("cuda_stretch", tests, NULL, NULL);
}
