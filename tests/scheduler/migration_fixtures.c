#include "tests/scheduler/migration_fixtures.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "scheduler/http/server/store_accounts.h"
#include "scheduler/jobs/job_manifest.h"
#include "scheduler/migration/node_hello.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/protocol.h"
#include "scheduler/migration/target_link.h"
#include "store/upkeep/fsck.h"
#include "store/jobs/node_identity.h"
#include "store/accounts/tokens.h"

enum { PATIENCE_MS = 10000, LITTLE_PATIENCE_MS = 300, HELLO_MS = 10000, PREPARE_MS = 60000 };
#define SETTLE_PAUSE_NS ((uint64_t)20 * 1000000)

/* ---- one node ---- */

static Error *make_tokens(Connection *catalog, void *context) {
    MigrationNode *node = context;
    Token token;
    TRY(tokens_create(catalog, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, &token, node->token));
    TRY(tokens_create(catalog, TENANT_DEFAULT, TOKEN_ROLE_USER, &token, node->user));
    return tokens_create(catalog, TENANT_DEFAULT, TOKEN_ROLE_ADMIN, &token, node->admin);
}

static void open_node(MigrationNode *node, uint8_t machine) {
    NodeIdentity identity;
    memset(node, 0, sizeof *node);
    control_fixture_init(&node->home);
    (void)snprintf(node->uploads, sizeof node->uploads, "%s/uploads", node->home.folder);
    assert_int_equal(mkdir(node->uploads, 0700), 0);
    assert_ok(node_identity_claim(node->home.store, &(Digest){{machine}}, &identity));
    node->number = identity.node;
    assert_ok(catalog_run(node->home.catalog, make_tokens, node));
    memory_jobs_init(&node->jobs);
    assert_ok(metrics_create(&node->home.metrics));
    (void)snprintf(node->address, sizeof node->address, "127.0.0.1:0");
    node->service = (HttpService){.store = node->home.store,
        .catalog = node->home.catalog,
        .accounts = store_accounts(node->home.settings),
        .jobs = memory_jobs_api(&node->jobs),
        .metrics = node->home.metrics,
        .upload_folder = node->uploads,
        .compiler = "/bin/false",
        .node = identity.node,
        .nodes = &node_calls_network};
    migration_node_start(node);
}

void migration_node_show(MigrationNode *node) {
    const HttpServerOptions options = {.listen_address = node->address,
        .handler_threads = 4,
        .body_limit_ms = node->body_limit_ms};
    assert_null(node->server);
    atomic_store(&node->service.ready, true);
    assert_ok(http_server_open(&node->service, &options, &node->server));
    (void)snprintf(node->address, sizeof node->address, "%s", http_server_address(node->server));
    (void)snprintf(node->url, sizeof node->url, "http://%s", node->address);
}

void migration_node_hide(MigrationNode *node) {
    http_server_close(node->server);
    node->server = NULL;
}

static void begin_migrations(MigrationNode *node, uint32_t patience_ms) {
    const MigrationsOptions options = {.control = node->home.control,
        .own_node = node->number,
        .settle_pause_ns = SETTLE_PAUSE_NS,
        .patience_ms = patience_ms};
    assert_ok(migrations_create(&options, &node->migrations));
    node->service.migrations = node->migrations;
}

static void end_migrations(MigrationNode *node) {
    migrations_release(node->migrations);
    node->migrations = NULL;
    node->service.migrations = NULL;
}

void migration_node_rest(MigrationNode *node) {
    bool was_shown = node->server != NULL;
    migration_node_hide(node);
    end_migrations(node);
    if (was_shown) migration_node_show(node);
}

void migration_node_hurry(MigrationNode *node) {
    migration_node_hide(node);
    end_migrations(node);
    begin_migrations(node, LITTLE_PATIENCE_MS);
    migration_node_show(node);
}

void migration_node_stop(MigrationNode *node) {
    migration_node_hide(node);
    end_migrations(node);
    control_fixture_stop(&node->home);
}

void migration_node_start(MigrationNode *node) {
    assert_ok(migrations_hold(node->home.store));
    control_fixture_start(&node->home, NULL);
    begin_migrations(node, PATIENCE_MS);
    if (!node->hides) migration_node_show(node);
}

static void close_node(MigrationNode *node) {
    migration_node_stop(node);
    metrics_release(node->home.metrics);
    control_fixture_deinit(&node->home);
    memory_jobs_deinit(&node->jobs);
}

/* ---- two of them ---- */

static Error *add_node(Connection *catalog, void *context) { return nodes_add(catalog, context); }

static void introduce(MigrationNode *here, MigrationNode *there, const char *name) {
    Node node = {.node = there->number};
    NodeHello hello;
    (void)snprintf(node.name, sizeof node.name, "%s", name);
    (void)snprintf(node.url, sizeof node.url, "%s", there->url);
    (void)snprintf(node.token, sizeof node.token, "%s", there->token);
    assert_ok(catalog_run(here->home.catalog, add_node, &node));
    assert_ok(node_calls_network.hello(&node, here->number, HELLO_MS, &hello));
    assert_true(hello.is_node && hello.node == there->number);
}

MigrationPair *migration_pair_open(void) {
    void *memory; /* a test that fails leaves its threads behind, and what they work with */
    assert_ok(memory_alloc(1, sizeof(MigrationPair), &memory));
    MigrationPair *pair = memory;
    open_node(&pair->west, 1);
    open_node(&pair->east, 2);
    introduce(&pair->west, &pair->east, "east");
    introduce(&pair->east, &pair->west, "west");
    return pair;
}

static bool is_settled(const MigrationNode *node) {
    OWN(DepartureList, departures) = NULL;
    OWN(ArrivalList, arrivals) = NULL;
    assert_ok(departures_list(node->home.store, &departures));
    assert_ok(arrivals_list(node->home.store, &arrivals));
    return departures->count == 0 && arrivals->count == 0;
}

static void check_node(MigrationNode *node) {
    OWN(FsckResult, result) = NULL;
    if (node->home.control) assert_ok(control_check(node->home.control));
    assert_ok(fsck_run(node->home.store, NULL, &result));
    if (result->error_count > 0) fail_msg("fsck: %s", result->errors[0]);
    assert_true(is_settled(node));
}

void migration_pair_check(MigrationPair *pair) {
    check_node(&pair->west);
    check_node(&pair->east);
}

void migration_pair_close(MigrationPair **inout_pair) {
    if (!*inout_pair) return;
    close_node(&(*inout_pair)->west);
    close_node(&(*inout_pair)->east);
    memory_free(*inout_pair);
    *inout_pair = NULL;
}

static void print_unsettled(const MigrationNode *node) {
    OWN(DepartureList, departures) = NULL;
    OWN(ArrivalList, arrivals) = NULL;
    assert_ok(departures_list(node->home.store, &departures));
    assert_ok(arrivals_list(node->home.store, &arrivals));
    for (size_t i = 0; i < departures->count; i++)
        print_error("job %d departs, progress %d\n", (int)departures->items[i].job.number,
            (int)departures->items[i].progress);
    for (size_t i = 0; i < arrivals->count; i++)
        print_error("job %d arrives, progress %d\n", (int)arrivals->items[i].job.number,
            (int)arrivals->items[i].progress);
}

void migration_pair_settle(MigrationPair *pair) {
    for (int i = 0; i < 6000; i++) {
        if (is_settled(&pair->west) && is_settled(&pair->east)) return;
        fixture_pause_ms(10);
    }
    print_unsettled(&pair->west);
    print_unsettled(&pair->east);
    fail_msg("a migration is still unsettled");
}

MigrationStatus migration_wait(MigrationNode *from, JobId id) {
    MigrationStatus status = {0};
    for (int i = 0; i < 30000; i++) {
        assert_true(migrations_find(from->migrations, id, &status));
        if (migration_is_over(status.phase)) return status;
        fixture_pause_ms(4);
    }
    fail_msg("the migration is %s", migration_phase_name(status.phase));
    return status;
}

MigrationStatus migration_move(MigrationNode *from, JobId id, const char *to) {
    MigrationStatus status;
    assert_ok(migrations_begin(from->migrations, TENANT_DEFAULT, id, to, 0, &status));
    return migration_wait(from, id);
}

JobState migration_node_state(const MigrationNode *node, JobId id) {
    Job job;
    Error *error = jobs_get(node->home.store, TENANT_DEFAULT, id, &job);
    if (!error) return job.state;
    assert_int_equal(error_code(error), ERROR_NOT_FOUND);
    error_free(error);
    return JOB_STATE_NONE;
}

Job migration_node_job(const MigrationNode *node, JobId id) {
    Job job;
    assert_ok(jobs_get(node->home.store, TENANT_DEFAULT, id, &job));
    return job;
}

bool migration_node_departs(const MigrationNode *node, JobId id) {
    OWN(DepartureList, list) = NULL;
    assert_ok(departures_list(node->home.store, &list));
    for (size_t i = 0; i < list->count; i++)
        if (job_id_equal(list->items[i].job, id)) return true;
    return false;
}

/* ---- by hand ---- */

static Error *begin(Connection *catalog, void *context) {
    MigrationHand *hand = context;
    return departures_begin(
        catalog, TENANT_DEFAULT, hand->job, "east", hand->to->number, &hand->departure);
}

void migration_hand_begin(MigrationHand *hand, MigrationNode *from, MigrationNode *to, JobId id) {
    Node node = {.node = to->number};
    *hand = (MigrationHand){.from = from, .to = to, .job = id, .done = MIGRATION_STEP_BEGUN};
    (void)snprintf(node.url, sizeof node.url, "%s", to->url);
    (void)snprintf(node.token, sizeof node.token, "%s", to->token);
    assert_ok(node_link_open(&node, &hand->link));
    assert_ok(catalog_run(from->home.catalog, begin, hand));
    hand->key = (MigrationKey){id, hand->departure.epoch, hand->departure.attempt};
    chunk_sender_init(&hand->sender, hand->link, &hand->key, 0);
}

void migration_hand_end(MigrationHand *hand) {
    chunk_sender_deinit(&hand->sender);
    http_client_close(hand->link);
}

void migration_hand_send(MigrationHand *hand, uint8_t **out_manifest, size_t *out_size) {
    OWN(JobManifest, job_manifest) = NULL;
    void *copy;
    const JobExportRequest wanted = {
        .tenant = TENANT_DEFAULT, .job = hand->job, .with_model = !hand->has_executable};
    assert_ok(job_manifest_open(hand->from->home.store, &wanted, &job_manifest));
    assert_ok(chunk_sender_send(&hand->sender, job_manifest));
    const uint8_t *manifest = job_manifest_bytes(job_manifest, out_size);
    assert_ok(memory_alloc(*out_size, 1, &copy));
    memcpy(copy, manifest, *out_size);
    *out_manifest = copy;
}

static void offer(MigrationHand *hand) {
    MigrationOfferAnswer answer;
    MigrationOffer wanted = {
        .key = hand->key, .protocol = MIGRATION_PROTOCOL_MAX, .tenant = "default"};
    Job job = migration_node_job(hand->from, hand->job);
    wanted.executable = job.executable;
    wanted.bytes = job.bytes_stored;
    assert_ok(target_link_offer(hand->link, &wanted, &answer));
    hand->has_executable = answer.has_executable;
}

static void rehearse(MigrationHand *hand) {
    uint8_t *manifest;
    size_t size;
    Error *error = control_checkpoint(hand->from->home.control, TENANT_DEFAULT, hand->job);
    assert_true(!error || error_code(error) == ERROR_CONFLICT);
    error_free(error); /* it has not begun */
    migration_hand_send(hand, &manifest, &size);
    assert_ok(target_link_rehearse(hand->link, &hand->key, manifest, size));
    memory_free(manifest);
    hand->has_executable = true;
}

static void prepare(MigrationHand *hand) {
    uint8_t *manifest;
    size_t size;
    migration_hand_send(hand, &manifest, &size);
    assert_ok(target_link_prepare(
        hand->link, &hand->key, hand->departure.suspended, manifest, size, PREPARE_MS));
    memory_free(manifest);
}

static Error *end(Connection *catalog, void *context) {
    const MigrationHand *hand = context;
    return departures_end(catalog, TENANT_DEFAULT, hand->job, hand->key.attempt);
}

static void take_step(MigrationHand *hand, MigrationStep step) {
    uint8_t *manifest;
    size_t size;
    Control *control = hand->from->home.control;
    switch ((int)step) {
    case MIGRATION_STEP_OFFERED:
        offer(hand);
        break;
    case MIGRATION_STEP_COPIED:
        rehearse(hand);
        break;
    case MIGRATION_STEP_STOPPED:
        assert_ok(control_migration_stop(control, TENANT_DEFAULT, hand->job, "goes east"));
        break;
    case MIGRATION_STEP_SENT:
        migration_hand_send(hand, &manifest, &size);
        memory_free(manifest);
        break;
    case MIGRATION_STEP_PREPARED:
        prepare(hand);
        break;
    case MIGRATION_STEP_MOVED:
        assert_ok(control_migration_commit(control, TENANT_DEFAULT, hand->job, "it is east's now"));
        break;
    case MIGRATION_STEP_OWNED:
        assert_ok(target_link_activate(hand->link, &hand->key));
        break;
    case MIGRATION_STEP_SETTLED:
        assert_ok(catalog_run(hand->from->home.catalog, end, hand));
        break;
    default: /* the source learns of the last step's end */
        break;
    }
}

void migration_hand_go(MigrationHand *hand, MigrationStep until) {
    while (hand->done < until) take_step(hand, ++hand->done);
}
