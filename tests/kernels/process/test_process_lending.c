#include "kernels/process/process_lending.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/kernels/fixtures/process_fixture.h"

enum { CALLS = 16 };

/* A worker that answers the first call on every channel it is told of, and refuses one of them. */
typedef struct Bench {
    ProcessFixture fixture;
    ProcessShared *shared;
    int sockets[2];
    pthread_t thread;
    uint32_t refused; /* this channel, once */
    ProcessLending *lending;
} Bench;

static void answer_one(Bench *bench, uint32_t index) {
    ProcessChannelShared *shared = &bench->shared->channels[index];
    Ring commands = ring_make_reader(&shared->commands, &bench->fixture.work.ending, 0);
    Ring answers = ring_make_writer(&shared->answers, &bench->fixture.work.ending, 0);
    ByteWriter OWN_BYTES(bytes) = {0};
    RingRecord record;
    void *room;
    if (ring_next(&commands, &record) != RING_READY) return;
    ring_done(&commands, &record);
    bool refused = index == bench->refused;
    if (refused) {
        Error *error = error_make(ERROR_OUT_OF_MEMORY, __FILE__, __LINE__, "no thread");
        process_wire_write_error(&bytes, error);
        error_free(error);
        bench->refused = UINT32_MAX;
    }
    if (ring_begin(&answers, (uint32_t)bytes.size, &room) != RING_READY) return;
    if (bytes.size) memcpy(room, bytes.data, bytes.size);
    ring_end(&answers, refused ? PROCESS_ANSWER_ERROR : PROCESS_ANSWER_LAST, (uint32_t)bytes.size);
}

static void *serve(void *argument) {
    Bench *bench = argument;
    uint32_t index;
    while (recv(bench->sockets[1], &index, sizeof index, 0) == sizeof index)
        answer_one(bench, index);
    return NULL;
}

static void init(Bench *bench, uint32_t refused) {
    *bench = (Bench){.refused = refused};
    process_fixture_init(&bench->fixture, NULL);
    int descriptor = memfd_create("test", MFD_CLOEXEC); /* only what is touched takes memory */
    assert_int_equal(ftruncate(descriptor, (off_t)sizeof(ProcessShared)), 0);
    bench->shared =
        mmap(NULL, sizeof(ProcessShared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(bench->shared != MAP_FAILED);
    (void)close(descriptor);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench->sockets), 0);
    assert_ok(process_lending_create(
        &bench->fixture.peer, bench->shared, bench->sockets[0], 0, &bench->lending));
    assert_int_equal(pthread_create(&bench->thread, NULL, serve, bench), 0);
}

static void deinit(Bench *bench) {
    (void)shutdown(bench->sockets[0], SHUT_RDWR);
    assert_int_equal(pthread_join(bench->thread, NULL), 0);
    process_lending_release(bench->lending);
    (void)close(bench->sockets[0]);
    (void)close(bench->sockets[1]);
    (void)munmap(bench->shared, sizeof(ProcessShared));
    process_fixture_deinit(&bench->fixture);
}

static void test_process_lending_gives_the_last_one_first(void **state) {
    (void)state;
    Bench bench;
    ProcessChannel *one, *two, *again;
    init(&bench, UINT32_MAX);
    assert_ok(process_lending_borrow(bench.lending, true, &one));
    assert_ok(process_lending_borrow(bench.lending, false, &two));
    assert_ptr_not_equal(one, two);
    uint64_t lending = atomic_load(&one->lending);
    process_lending_return(bench.lending, two);
    process_lending_return(bench.lending, one);
    assert_ok(process_lending_borrow(bench.lending, false, &again));
    assert_ptr_equal(again, one);
    assert_true(atomic_load(&one->lending) > lending); /* another's now */
    process_lending_return(bench.lending, again);
    deinit(&bench);
}

/* Calls go on when there is no room for streams. */
static void test_process_lending_keeps_some_for_calls(void **state) {
    (void)state;
    Bench bench;
    ProcessChannel *channels[PROCESS_CHANNELS_MAX], *more;
    uint32_t count = 0;
    init(&bench, UINT32_MAX);
    while (count < PROCESS_CHANNELS_MAX - CALLS)
        assert_ok(process_lending_borrow(bench.lending, true, &channels[count++]));
    assert_fails_saying(
        EXHAUSTED, "1008 streams", process_lending_borrow(bench.lending, true, &more));
    while (count < PROCESS_CHANNELS_MAX)
        assert_ok(process_lending_borrow(bench.lending, false, &channels[count++]));
    for (uint32_t i = 0; i < count; i++) process_lending_return(bench.lending, channels[i]);
    assert_ok(process_lending_borrow(bench.lending, true, &more));
    process_lending_return(bench.lending, more);
    deinit(&bench);
}

static void test_process_lending_tells_that_there_is_no_thread(void **state) {
    (void)state;
    Bench bench;
    ProcessChannel *channel;
    init(&bench, 0);
    assert_fails_saying(
        OUT_OF_MEMORY, "no thread", process_lending_borrow(bench.lending, true, &channel));
    assert_ok(process_lending_borrow(bench.lending, true, &channel)); /* there is one now */
    process_lending_return(bench.lending, channel);
    deinit(&bench);
}

static void test_process_lending_notices_that_nobody_listens(void **state) {
    (void)state;
    Bench bench;
    ProcessChannel *channel;
    init(&bench, UINT32_MAX);
    (void)shutdown(bench.sockets[1], SHUT_RDWR);
    assert_fails(DEVICE_LOST, process_lending_borrow(bench.lending, true, &channel));
    assert_int_equal(bench.fixture.given_up, 1);
    deinit(&bench);
}

int test_process_lending(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_lending_gives_the_last_one_first),
        cmocka_unit_test(test_process_lending_keeps_some_for_calls),
        cmocka_unit_test(test_process_lending_tells_that_there_is_no_thread),
        cmocka_unit_test(test_process_lending_notices_that_nobody_listens),
    };
    return cmocka_run_group_tests_name("process_lending", tests, NULL, NULL);
}
