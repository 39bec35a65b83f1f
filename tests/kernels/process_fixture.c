#include "tests/kernels/process_fixture.h"

#include <stdio.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "kernels/registry/device_registry.h"

static void give_up(ProcessPeer *peer, const char *why) {
    ProcessFixture *fixture = (ProcessFixture *)peer;
    (void)snprintf(fixture->why, sizeof fixture->why, "%s", why);
    atomic_fetch_add(&fixture->given_up, 1);
    atomic_store(&peer->gone, true);
}

static void hung_up(ProcessPeer *peer) { give_up(peer, "hung up"); }

static void nudge(ProcessPeer *peer, uint32_t channel) {
    ProcessFixture *fixture = (ProcessFixture *)peer;
    assert_int_equal(channel, 0);
    if (fixture->service) process_service_look(fixture->service);
}

static Error *describe(ProcessPeer *peer) {
    FAIL(DEVICE_LOST, "%s: %s", peer->name, ((ProcessFixture *)peer)->why);
}

static void *serve(void *argument) {
    ProcessFixture *fixture = argument;
    fixture->ended = process_service_run(fixture->service);
    if (fixture->ended) { /* as the worker's end would */
        atomic_store(&fixture->peer.gone, true);
        ring_wake(&fixture->shared->answers);
        ring_wake(&fixture->shared->commands);
    }
    return NULL;
}

void process_fixture_init(ProcessFixture *fixture, const char *spec) {
    void *memory;
    *fixture = (ProcessFixture){.peer = {.name = "test",
                                    .give_up = give_up,
                                    .hung_up = hung_up,
                                    .describe = describe,
                                    .nudge = nudge}};
    assert_ok(memory_map(sizeof(ProcessChannelShared), &memory));
    fixture->shared = memory;
    process_channel_init(&fixture->channel, &fixture->peer, fixture->shared, 0, spin_limit_ns());
    if (!spec) return;
    ProcessWork *work = &fixture->work;
    (void)pthread_mutex_init(&work->mutex, NULL);
    (void)pthread_cond_init(&work->freed, NULL);
    assert_ok(device_open(spec, &work->device));
    assert_ok(process_handles_create(work->device, &work->handles));
    assert_ok(process_service_create(work, fixture->shared, spin_limit_ns(), &fixture->service));
    assert_int_equal(pthread_create(&fixture->thread, NULL, serve, fixture), 0);
}

void process_fixture_deinit(ProcessFixture *fixture) {
    if (fixture->service) {
        ProcessWork *work = &fixture->work;
        atomic_store(&work->ending, true);
        process_handles_end(work->handles);
        ring_wake(&fixture->shared->commands);
        ring_wake(&fixture->shared->answers);
        assert_int_equal(pthread_join(fixture->thread, NULL), 0);
        process_service_release(fixture->service);
        process_handles_release(work->handles);
        device_close(work->device);
        (void)pthread_mutex_destroy(&work->mutex);
        (void)pthread_cond_destroy(&work->freed);
    }
    process_channel_deinit(&fixture->channel);
    memory_unmap(fixture->shared, sizeof(ProcessChannelShared));
}

static void write_numbers(ByteWriter *writer, uint32_t count, const uint64_t *numbers) {
    for (uint32_t i = 0; i < count; i++) byte_write_u64(writer, numbers[i]);
}

Error *process_fixture_call(ProcessFixture *fixture, ProcessCall call, uint32_t count,
    const uint64_t *numbers, uint64_t *out_number) {
    ByteWriter OWN_BYTES(head) = {0};
    ByteWriter OWN_BYTES(answer) = {0};
    write_numbers(&head, count, numbers);
    TRY(process_channel_call(&fixture->channel, call, &head, (ProcessBytes){0}, &answer));
    if (!out_number) return NULL;
    ByteReader reader = byte_reader(answer.data, answer.size);
    return byte_read_u64(&reader, out_number);
}

Error *process_fixture_post(
    ProcessFixture *fixture, ProcessCall call, uint32_t count, const uint64_t *numbers) {
    ByteWriter OWN_BYTES(head) = {0};
    write_numbers(&head, count, numbers);
    return process_channel_post(&fixture->channel, call, &head, (ProcessBytes){0});
}
