#pragma once
/* Both ends of a channel in one process: the daemon's, and a worker's thread on a sim device. */
#include "kernels/process/process_channel.h"
#include "kernels/process/process_service.h"
#include "tests/support/test_support.h"

typedef struct ProcessFixture {
    ProcessPeer peer; /* first: give_up finds the rest */
    atomic_int given_up;
    char why[256];
    ProcessChannelShared *shared;
    ProcessChannel channel;
    ProcessWork work;
    ProcessService *service;
    pthread_t thread;
    Error *ended; /* what the service's loop answered, after process_fixture_deinit */
} ProcessFixture;

/* spec NULL: nobody serves the channel; the test does. */
void process_fixture_init(ProcessFixture *fixture, const char *spec);
void process_fixture_deinit(ProcessFixture *fixture);
/* A call with these numbers, and the one that is answered. */
MUST_CHECK Error *process_fixture_call(ProcessFixture *fixture, ProcessCall call, uint32_t count,
    const uint64_t *numbers, uint64_t *out_number);
MUST_CHECK Error *process_fixture_post(
    ProcessFixture *fixture, ProcessCall call, uint32_t count, const uint64_t *numbers);
