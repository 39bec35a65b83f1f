#include "kernels/sim/sim_stream.h"

#include <stdatomic.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "tests/support/test_support.h"

/* A command that writes down that it ran. */
typedef struct Note {
    SimCommand base;
    struct Notes *notes;
    int number;
    bool fails;
    const atomic_bool *gate; /* it runs until this is set; NULL: at once */
} Note;

typedef struct Notes {
    int numbers[64];
    atomic_int count, released;
} Notes;

static Error *run_note(SimCommand *command) {
    const Note *note = (const Note *)command;
    while (note->gate && !atomic_load(note->gate)) continue;
    note->notes->numbers[atomic_fetch_add(&note->notes->count, 1)] = note->number;
    if (note->fails) FAIL(FAILED, "note %d", note->number);
    return NULL;
}

static void release_note(SimCommand *command) {
    atomic_fetch_add(&((Note *)command)->notes->released, 1);
    memory_free(command);
}

static void push(SimStream *stream, Notes *notes, int number, const atomic_bool *gate, int kind) {
    void *memory;
    assert_ok(memory_alloc(1, sizeof(Note), &memory));
    Note *note = memory;
    *note = (Note){.base = {run_note, release_note, .always = kind == 'a'},
        .notes = notes,
        .number = number,
        .fails = kind == 'f',
        .gate = gate};
    assert_ok(sim_stream_push(stream, &note->base));
}

static void test_sim_stream_keeps_the_order(void **state) {
    (void)state;
    static Notes notes;
    OWN(SimEngine, engine) = NULL;
    SimStream *stream;
    assert_ok(sim_engine_create(0, &engine));
    assert_ok(sim_stream_create(engine, &stream));
    assert_true(sim_stream_is_idle(stream));
    for (int i = 0; i < 64; i++) push(stream, &notes, i, NULL, 0);
    assert_ok(sim_stream_synchronize(stream));
    assert_true(sim_stream_is_idle(stream));
    assert_int_equal(notes.count, 64);
    for (int i = 0; i < 64; i++) assert_int_equal(notes.numbers[i], i);
    sim_stream_destroy(stream);
    assert_int_equal(notes.released, 64);
}

/* One stream's work goes on while another's is stuck; an event holds a third back. */
static void test_sim_stream_runs_beside_others_unless_an_event_orders_them(void **state) {
    (void)state;
    static Notes slow, quick, waiting;
    atomic_bool gate = false;
    OWN(SimEngine, engine) = NULL;
    SimStream *streams[3];
    SimEvent *event;
    assert_ok(sim_engine_create(0, &engine));
    for (int i = 0; i < 3; i++) assert_ok(sim_stream_create(engine, &streams[i]));
    assert_ok(sim_event_create(engine, &event));
    assert_ok(sim_event_wait(event, streams[1])); /* of nothing: it holds nobody back */
    push(streams[0], &slow, 1, &gate, 0);
    assert_ok(sim_event_record(event, streams[0]));
    assert_ok(sim_event_wait(event, streams[2]));
    push(streams[2], &waiting, 3, NULL, 0);
    push(streams[1], &quick, 2, NULL, 0);
    assert_ok(sim_stream_synchronize(streams[1]));
    assert_int_equal(quick.count, 1);
    assert_int_equal(slow.count, 0);
    assert_int_equal(waiting.count, 0);
    uint64_t before_ns = clock_now_ns(clock_real());
    atomic_store(&gate, true);
    sim_event_synchronize(event);
    assert_int_equal(slow.count, 1);
    assert_true(sim_event_time_ns(event) >= before_ns);
    assert_ok(sim_stream_synchronize(streams[2]));
    assert_int_equal(waiting.count, 1);
    sim_event_destroy(event);
    for (int i = 0; i < 3; i++) sim_stream_destroy(streams[i]);
}

/* What is behind a failed command does not run, but what gives back; then the stream goes on. */
static void test_sim_stream_tells_the_first_error_once(void **state) {
    (void)state;
    static Notes notes;
    OWN(SimEngine, engine) = NULL;
    SimStream *stream;
    assert_ok(sim_engine_create(0, &engine));
    assert_ok(sim_stream_create(engine, &stream));
    push(stream, &notes, 1, NULL, 'f');
    push(stream, &notes, 2, NULL, 0);
    push(stream, &notes, 3, NULL, 'f');
    push(stream, &notes, 4, NULL, 'a');
    sim_stream_wait(stream);
    assert_fails_saying(FAILED, "note 1", sim_stream_synchronize(stream));
    assert_int_equal(notes.count, 2);
    assert_int_equal(notes.numbers[1], 4);
    push(stream, &notes, 5, NULL, 0);
    assert_ok(sim_stream_synchronize(stream));
    assert_int_equal(notes.numbers[2], 5);
    assert_int_equal(notes.released, 5);
    push(stream, &notes, 6, NULL, 'f');
    sim_stream_destroy(stream); /* nobody asks */
    assert_int_equal(notes.released, 6);
}

static void test_sim_stream_lags_as_it_is_told(void **state) {
    (void)state;
    enum { LAG_NS = 3000000 };
    static Notes notes;
    OWN(SimEngine, engine) = NULL;
    SimStream *stream;
    assert_ok(sim_engine_create(LAG_NS, &engine));
    assert_ok(sim_stream_create(engine, &stream));
    uint64_t start_ns = clock_now_ns(clock_real());
    push(stream, &notes, 1, NULL, 0);
    assert_int_equal(notes.count, 0);
    assert_ok(sim_stream_synchronize(stream));
    assert_true(clock_now_ns(clock_real()) >= start_ns + LAG_NS);
    assert_int_equal(notes.count, 1);
    sim_stream_destroy(stream);
}

int test_sim_stream(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_stream_keeps_the_order),
        cmocka_unit_test(test_sim_stream_runs_beside_others_unless_an_event_orders_them),
        cmocka_unit_test(test_sim_stream_tells_the_first_error_once),
        cmocka_unit_test(test_sim_stream_lags_as_it_is_told),
    };
    return cmocka_run_group_tests_name("sim_stream", tests, NULL, NULL);
}
