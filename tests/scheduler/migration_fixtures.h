#pragma once
/* Two nodes in one process that move jobs to each other over HTTP, and a source that goes step by
 * step, so that either side can die between any two of them. */
#include "scheduler/http/server/http_server.h"
#include "scheduler/migration/migration_step.h"
#include "scheduler/migration/migrations.h"
#include "scheduler/migration/chunk_sender.h"
#include "store/jobs/arrivals.h"
#include "store/jobs/departures.h"
#include "tests/scheduler/control_fixtures.h"
#include "tests/scheduler/memory_jobs.h"

typedef struct MigrationNode {
    ControlFixture home;
    MemoryJobs jobs; /* none: what the server says of itself to its peers */
    HttpService service;
    HttpServer *server;     /* NULL: nobody reaches it */
    Migrations *migrations; /* NULL: it settles nothing, and takes nothing */
    uint64_t number;
    char address[64], url[96], uploads[128];
    char token[TOKEN_TEXT_SIZE]; /* made there, bound to the other one */
    char user[TOKEN_TEXT_SIZE];  /* of the default tenant */
    char admin[TOKEN_TEXT_SIZE];
    uint32_t body_limit_ms; /* of its server, when it is opened next */
    bool hides;             /* its server is not opened when it starts */
} MigrationNode;

/* West calls the other one "east", and that one it "west". Both have tenant default and model m of
 * control_fixtures.h; a peer that does not answer is tried for a third of a second. */
typedef struct MigrationPair {
    MigrationNode west, east;
} MigrationPair;

/* Both run. */
MigrationPair *migration_pair_open(void);
/* Both control threads are well, nothing is unsettled, and fsck has nothing to say. */
void migration_pair_check(MigrationPair *pair);
/* Without that. */
void migration_pair_close(MigrationPair **inout_pair);
#define OWN_PAIR(name) __attribute__((cleanup(migration_pair_close))) MigrationPair *name

/* As kill -9, but that threads are joined: nothing is drained. */
void migration_node_stop(MigrationNode *node);
/* As the daemon does: unsettled jobs are held before anything runs. */
void migration_node_start(MigrationNode *node);
/* It runs on, and nobody reaches it, or somebody does again, at the same address. */
void migration_node_hide(MigrationNode *node);
void migration_node_show(MigrationNode *node);
/* It settles nothing by itself: what a test does as a source by hand stays as it is. */
void migration_node_rest(MigrationNode *node);
/* Its migrations give up soon. */
void migration_node_hurry(MigrationNode *node);

/* Moves a job and waits for the end of it. */
MigrationStatus migration_move(MigrationNode *from, JobId id, const char *to);
MigrationStatus migration_wait(MigrationNode *from, JobId id);
/* Until no departure and no arrival of either is unsettled. */
void migration_pair_settle(MigrationPair *pair);
/* NONE: there is no such job. */
JobState migration_node_state(const MigrationNode *node, JobId id);
Job migration_node_job(const MigrationNode *node, JobId id);
bool migration_node_departs(const MigrationNode *node, JobId id);

/* ---- by hand ---- */

typedef struct MigrationHand {
    MigrationNode *from, *to;
    JobId job;
    Departure departure;
    MigrationKey key;
    HttpClient *link;
    ChunkSender sender;
    bool has_executable;
    MigrationStep done;
} MigrationHand;

/* The first step; `from` must rest. */
void migration_hand_begin(MigrationHand *hand, MigrationNode *from, MigrationNode *to, JobId id);
/* All steps that are missing up to that one. */
void migration_hand_go(MigrationHand *hand, MigrationStep until);
void migration_hand_end(MigrationHand *hand);
#define OWN_HAND(name) __attribute__((cleanup(migration_hand_end))) name
/* The manifest of the job as it is now, sent with all its chunks. out: memory_free. */
void migration_hand_send(MigrationHand *hand, uint8_t **out_manifest, size_t *out_size);
