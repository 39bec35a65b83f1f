#include "scheduler/migration/arrival_service.h"

#include <stdio.h>

#include "base/allocator.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/migration/arrival_sessions.h"
#include "scheduler/migration/chunk_batch.h"
#include "scheduler/migration/protocol.h"
#include "store/database/alive_time.h"
#include "store/chunks/chunk_reader.h"
#include "tests/fuzz/fuzz_repair.h"
#include "tests/scheduler/job_file_fixtures.h"
#include "tests/scheduler/migration_fixtures.h"

enum { ROWS = 30, STRANGER = 77, RAW_SIZE = 4096 };

static ArrivalService *arrivals_of(MigrationPair *pair) {
    return migrations_arrivals(pair->east.migrations);
}

static MigrationOffer make_offer(JobId job, int64_t epoch, int64_t attempt) {
    return (MigrationOffer){
        .key = {job, epoch, attempt}, .protocol = MIGRATION_PROTOCOL_MAX, .tenant = "default"};
}

static Error *offer(MigrationPair *pair, uint64_t source, const MigrationOffer *wanted) {
    MigrationOfferAnswer answer;
    return arrival_service_offer(arrivals_of(pair), source, wanted, &answer);
}

static size_t count_arrivals(MigrationPair *pair) {
    OWN(ArrivalList, list) = NULL;
    assert_ok(arrivals_list(pair->east.home.store, &list));
    return list->count;
}

static Error *set_quota(Connection *catalog, void *context) {
    return tenants_set_quota(catalog, TENANT_DEFAULT, QUOTA_STORE_BYTES, *(int64_t *)context);
}

static void test_arrival_service_refuse_offers_with_the_reason(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    JobId here, id = {pair->west.number, 1};
    Job job;
    int64_t quota = 1000;
    uint64_t west = pair->west.number;
    MigrationOffer wanted = make_offer(id, 0, 1);
    (void)snprintf(wanted.tenant, sizeof wanted.tenant, "nobody");
    assert_fails_saying(NOT_FOUND, "the target", offer(pair, west, &wanted));
    wanted = make_offer(id, 0, 1);
    wanted.protocol = MIGRATION_PROTOCOL_MAX + 1;
    assert_fails(UNSUPPORTED, offer(pair, west, &wanted));
    assert_ok(catalog_run(pair->east.home.catalog, set_quota, &quota));
    wanted = make_offer(id, 0, 1);
    wanted.bytes = UINT64_MAX;
    assert_fails_saying(EXHAUSTED, "store_bytes", offer(pair, west, &wanted));
    quota = QUOTA_UNLIMITED;
    assert_ok(catalog_run(pair->east.home.catalog, set_quota, &quota));
    assert_int_equal(count_arrivals(pair), 0);
    assert_ok(control_fixture_submit(&pair->east.home, "four", 1, false, NULL, &here));
    control_fixture_wait(&pair->east.home, here, JOB_STATE_SUCCEEDED, &job);
    wanted = make_offer(here, 5, 1);
    assert_fails_saying(CONFLICT, "here already", offer(pair, west, &wanted));
    wanted = make_offer(id, 1, 3);
    assert_ok(offer(pair, west, &wanted));
    assert_ok(offer(pair, west, &wanted)); /* again */
    wanted = make_offer(id, 1, 2);
    assert_fails_saying(CONFLICT, "is over", offer(pair, west, &wanted));
    wanted = make_offer(id, 0, 9);
    assert_fails_saying(CONFLICT, "is over", offer(pair, west, &wanted));
    wanted = make_offer(id, 1, 3);
    assert_ok(arrival_service_abort(arrivals_of(pair), west, &wanted.key));
    migration_pair_check(pair);
}

/* Refused ones leave nothing behind: a peer cannot fill the catalog with offers. */
static void test_arrival_service_are_bounded(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    for (uint64_t i = 1; i <= ARRIVAL_SESSIONS_MAX + 20; i++) {
        const MigrationOffer wanted = make_offer((JobId){pair->west.number, i}, 0, 1);
        Error *error = offer(pair, pair->west.number, &wanted);
        assert_int_equal(
            error_code(error), i <= ARRIVAL_SESSIONS_MAX ? ERROR_NONE : ERROR_EXHAUSTED);
        error_free(error);
    }
    assert_int_equal(count_arrivals(pair), ARRIVAL_SESSIONS_MAX);
    for (uint64_t i = 1; i <= ARRIVAL_SESSIONS_MAX; i++) {
        const MigrationOffer wanted = make_offer((JobId){pair->west.number, i}, 0, 1);
        assert_ok(arrival_service_abort(arrivals_of(pair), pair->west.number, &wanted.key));
    }
    migration_pair_check(pair);
}

/* A suspended job in the middle of its batch, offered. */
static void begin(MigrationPair *pair, MigrationHand *hand, MigrationStep until) {
    JobId id;
    control_fixture_suspended(&pair->west.home, ROWS, true, &id);
    migration_node_rest(&pair->west);
    migration_hand_begin(hand, &pair->west, &pair->east, id);
    migration_hand_go(hand, until);
}

/* What the other node has sent is nobody else's to go on with, to take or to end. */
static void test_arrival_service_listen_to_their_source_alone(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationHand OWN_HAND(hand);
    ArrivalAnswer known;
    ChunkRef ref = {.raw_size = 1};
    uint8_t bits[1] = {0}, *manifest;
    size_t size;
    begin(pair, &hand, MIGRATION_STEP_STOPPED);
    migration_hand_send(&hand, &manifest, &size);
    ArrivalService *arrivals = arrivals_of(pair);
    const MigrationKey key = hand.key;
    const MigrationKey wrong[] = {key, {key.job, key.epoch, key.attempt + 1},
        {key.job, key.epoch + 1, key.attempt}, {{key.job.node, key.job.number + 1}, 0, 1},
        {key.job, INT64_MAX, INT64_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t node = i ? pair->west.number : STRANGER;
        const MigrationKey *other = &wrong[i];
        assert_fails(NOT_FOUND, arrival_service_find_missing(arrivals, node, other, &ref, 1, bits));
        assert_fails(NOT_FOUND, arrival_service_take_chunks(arrivals, node, other, "", 0));
        assert_fails(NOT_FOUND, arrival_service_rehearse(arrivals, node, other, manifest, size));
        assert_fails(
            NOT_FOUND, arrival_service_prepare(arrivals, node, other, false, manifest, size));
        assert_fails(NOT_FOUND, arrival_service_activate(arrivals, node, other));
        assert_ok(arrival_service_abort(arrivals, node, other));
        assert_ok(arrival_service_find(arrivals, node, other, &known));
        assert_int_equal(known, ARRIVAL_UNKNOWN);
    }
    assert_ok(arrival_service_find(arrivals, pair->west.number, &key, &known));
    assert_int_equal(known, ARRIVAL_OFFERED);
    assert_fails(NOT_FOUND, arrival_service_activate(arrivals, pair->west.number, &key));
    assert_ok(arrival_service_prepare(arrivals, pair->west.number, &key, true, manifest, size));
    assert_ok(arrival_service_prepare(arrivals, pair->west.number, &key, true, manifest, size));
    assert_fails(NOT_FOUND, arrival_service_activate(arrivals, STRANGER, &key));
    assert_ok(arrival_service_abort(arrivals, STRANGER, &key));
    assert_int_equal(migration_node_state(&pair->east, key.job), JOB_STATE_IN_DOUBT);
    const MigrationOffer again = make_offer(key.job, key.epoch, key.attempt + 1);
    assert_fails_saying(CONFLICT, "is prepared", offer(pair, STRANGER, &again));
    assert_ok(arrival_service_abort(arrivals, pair->west.number, &key));
    assert_ok(arrival_service_abort(arrivals, pair->west.number, &key));
    assert_int_equal(migration_node_state(&pair->east, key.job), JOB_STATE_NONE);
    assert_fails(NOT_FOUND,
        arrival_service_prepare(arrivals, pair->west.number, &key, true, manifest, size));
    memory_free(manifest);
    migration_node_stop(&pair->west);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    migration_pair_check(pair);
}

/* A chunk of any bytes, as the store keeps it. */
static void make_chunk(uint8_t first, ChunkRef *out_ref, ByteWriter *out_stored) {
    uint8_t raw[RAW_SIZE];
    for (int i = 0; i < RAW_SIZE; i++) raw[i] = (uint8_t)(first + i * 7);
    *out_ref = (ChunkRef){.raw_size = sizeof raw};
    assert_ok(digest_sha256(raw, sizeof raw, &out_ref->hash));
    assert_ok(chunk_encode(raw, sizeof raw, CHUNK_FILTER_FLOAT32, out_stored));
}

static void test_arrival_service_take_only_chunks_that_are_what_they_say(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    ArrivalService *arrivals = arrivals_of(pair);
    uint64_t west = pair->west.number;
    const MigrationOffer wanted = make_offer((JobId){west, 9}, 0, 1);
    ByteWriter OWN_BYTES(stored) = {0};
    ByteWriter OWN_BYTES(other) = {0};
    ChunkRef ref, other_ref;
    uint8_t bits[1];
    make_chunk(1, &ref, &stored);
    make_chunk(2, &other_ref, &other);
    assert_ok(offer(pair, west, &wanted));
    for (int lie = 0; lie < 5; lie++) {
        ByteWriter OWN_BYTES(batch) = {0};
        ChunkRef said = lie == 0 ? other_ref : ref;
        if (lie == 1) said.raw_size--;
        if (lie == 2) said.raw_size = CHUNK_SIZE;
        if (lie == 3) stored.data[stored.size / 2] ^= 1;
        chunk_batch_add(&batch, &said, stored.data, lie == 4 ? stored.size - 1 : stored.size);
        if (lie == 3) stored.data[stored.size / 2] ^= 1;
        Error *error =
            arrival_service_take_chunks(arrivals, west, &wanted.key, batch.data, batch.size);
        if (error_code(error) != ERROR_CORRUPT) fail_msg("%d: %s", lie, error_message(error));
        error_free(error);
        assert_ok(arrival_service_find_missing(arrivals, west, &wanted.key, &said, 1, bits));
        assert_int_equal(bits[0], 1);
    }
    ByteWriter OWN_BYTES(batch) = {0}; /* the same twice is once */
    chunk_batch_add(&batch, &ref, stored.data, stored.size);
    chunk_batch_add(&batch, &ref, stored.data, stored.size);
    chunk_batch_add(&batch, &other_ref, other.data, other.size);
    assert_ok(arrival_service_take_chunks(arrivals, west, &wanted.key, batch.data, batch.size));
    assert_ok(arrival_service_find_missing(arrivals, west, &wanted.key, &ref, 1, bits));
    assert_int_equal(bits[0], 0);
    assert_fails(CORRUPT, arrival_service_take_chunks(arrivals, west, &wanted.key, batch.data,
                              (size_t)CHUNK_BATCH_BYTES_MAX + 1));
    assert_ok(arrival_service_abort(arrivals, west, &wanted.key));
    migration_pair_check(pair);
}

static Error *add_time(Connection *catalog, void *context) {
    double total_s;
    return alive_time_add(catalog, *(const double *)context, &total_s);
}

static void live(MigrationPair *pair, double seconds) {
    assert_ok(catalog_run(pair->east.home.catalog, add_time, &seconds));
}

/* Copying may take longer than an offer lives that nobody goes on with. */
static void test_arrival_service_keep_an_offer_while_chunks_come(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    ArrivalService *arrivals = arrivals_of(pair);
    uint64_t west = pair->west.number;
    const MigrationOffer wanted = make_offer((JobId){west, 9}, 0, 1);
    Arrival arrival;
    bool found;
    assert_ok(offer(pair, west, &wanted));
    assert_ok(arrivals_find(pair->east.home.store, wanted.key.job, &found, &arrival));
    assert_true(found);
    assert_true(arrival.touched == 0);
    live(pair, 600);
    assert_ok(arrival_service_take_chunks(arrivals, west, &wanted.key, "", 0));
    assert_ok(arrivals_find(pair->east.home.store, wanted.key.job, &found, &arrival));
    assert_true(found && arrival.touched == 600);
    live(pair, 599); /* not with each batch */
    assert_ok(arrival_service_take_chunks(arrivals, west, &wanted.key, "", 0));
    assert_ok(arrivals_find(pair->east.home.store, wanted.key.job, &found, &arrival));
    assert_true(found && arrival.touched == 600);
    assert_ok(arrival_service_abort(arrivals, west, &wanted.key));
    migration_pair_check(pair);
}

static bool is_refusal(const Error *error) {
    ErrorCode code = error_code(error);
    return code == ERROR_CORRUPT || code == ERROR_INVALID || code == ERROR_NOT_FOUND ||
           code == ERROR_UNSUPPORTED || code == ERROR_EXHAUSTED;
}

/* Cut anywhere, or with any byte changed and its checksums right again: refused with a reason, or
 * it is a job that could be. */
static void test_arrival_service_check_manifests(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationHand OWN_HAND(hand);
    uint8_t *manifest;
    size_t size, refused = 0, tried = 0;
    begin(pair, &hand, MIGRATION_STEP_STOPPED);
    migration_hand_send(&hand, &manifest, &size);
    ArrivalService *arrivals = arrivals_of(pair);
    uint64_t west = pair->west.number;
    assert_ok(arrival_service_rehearse(arrivals, west, &hand.key, manifest, size));
    assert_fails(CORRUPT, arrival_service_rehearse(arrivals, west, &hand.key, "", 0));
    assert_fails(CORRUPT, arrival_service_prepare(arrivals, west, &hand.key, true, "layover", 7));
    for (size_t cut = 1; cut < size; cut += 1 + size / 150) {
        Error *error = arrival_service_rehearse(arrivals, west, &hand.key, manifest, cut);
        if (!is_refusal(error)) fail_msg("cut at %zu: %s", cut, error_message(error));
        error_free(error);
    }
    for (size_t at = 0; at < size; at += 1 + size / 1500) {
        void *copy;
        assert_ok(memory_alloc(size, 1, &copy));
        memcpy(copy, manifest, size);
        ((uint8_t *)copy)[at] ^= (uint8_t)(1 << at % 8);
        fuzz_repair_manifest(copy, size);
        Error *error = arrival_service_rehearse(arrivals, west, &hand.key, copy, size);
        if (error && !is_refusal(error)) fail_msg("byte %zu: %s", at, error_message(error));
        refused += error != NULL;
        tried++;
        error_free(error);
        memory_free(copy);
    }
    /* about half; the rest are names, numbers and outputs that could be */
    assert_true(tried > 300 && refused > tried / 3);
    assert_int_equal(migration_node_state(&pair->east, hand.job), JOB_STATE_NONE);
    assert_ok(arrival_service_prepare(arrivals, west, &hand.key, true, manifest, size));
    memory_free(manifest);
    migration_node_stop(&pair->west);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    migration_pair_check(pair);
}

/* What was asked about and never sent is not there when it is to be read. */
static void test_arrival_service_miss_chunks_that_never_came(void **state) {
    (void)state;
    OWN_PAIR(pair) = migration_pair_open();
    MigrationHand OWN_HAND(hand);
    JobId id;
    size_t size;
    assert_ok(control_fixture_submit(&pair->west.home, "forever", 200000, false, NULL, &id));
    migration_node_rest(&pair->west);
    migration_hand_begin(&hand, &pair->west, &pair->east, id);
    migration_hand_go(&hand, MIGRATION_STEP_OFFERED);
    assert_ok(control_migration_stop(pair->west.home.control, TENANT_DEFAULT, id, "goes east"));
    const JobExportRequest wanted = {.tenant = TENANT_DEFAULT, .job = id};
    OWN(JobManifest, job_manifest) = NULL;
    assert_ok(job_manifest_open(pair->west.home.store, &wanted, &job_manifest));
    (void)job_manifest_chunks(job_manifest, &size);
    assert_true(size > 0);
    const uint8_t *manifest = job_manifest_bytes(job_manifest, &size);
    Error *error = arrival_service_prepare(
        arrivals_of(pair), pair->west.number, &hand.key, false, manifest, size);
    if (!is_refusal(error)) fail_msg("%s", error_message(error));
    error_free(error);
    assert_int_equal(migration_node_state(&pair->east, id), JOB_STATE_NONE);
    migration_node_stop(&pair->west);
    migration_node_start(&pair->west);
    migration_pair_settle(pair);
    assert_ok(control_cancel(pair->west.home.control, TENANT_DEFAULT, id));
    migration_pair_check(pair);
}

int test_arrival_service(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrival_service_refuse_offers_with_the_reason),
        cmocka_unit_test(test_arrival_service_are_bounded),
        cmocka_unit_test(test_arrival_service_listen_to_their_source_alone),
        cmocka_unit_test(test_arrival_service_take_only_chunks_that_are_what_they_say),
        cmocka_unit_test(test_arrival_service_keep_an_offer_while_chunks_come),
        cmocka_unit_test(test_arrival_service_check_manifests),
        cmocka_unit_test(test_arrival_service_miss_chunks_that_never_came),
    };
    return cmocka_run_group_tests_name("arrival_service", tests, NULL, NULL);
}
