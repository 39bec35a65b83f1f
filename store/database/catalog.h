#pragma once
/* The catalog's writer thread: work from any thread, committed in groups. Callers: the control
 * thread's commits, housekeeping, HTTP handlers, scheduler/service; commands without a daemon use
 * catalog_run_directly.
 *
 * Work that arrives while a group becomes durable forms the next group: one transaction, one sync.
 * Each piece of work runs in its own savepoint: a failing piece leaves nothing behind and does not
 * affect the others.
 *
 * Failures of a whole group: a full disk fails the group with EXHAUSTED, and the next group is
 * tried again. An IO failure is final, since the content of the disk is then unknown: every later
 * request fails with it, and the owner stops and opens the store anew. */
#include <stdbool.h>
#include <stddef.h>

#include "store/database/store.h"

typedef struct Catalog Catalog;

enum {
    CATALOG_GROUP_MAX = 1024,  /* pieces of work in one transaction */
    CATALOG_QUEUE_MAX = 65536, /* waiting requests */
};

/* Reads and writes rows through the functions that take a Connection. Runs in the writer's thread
 * and must not wait for anything. An error undoes all changes of the work. Runs a second time when
 * the work makes room (CatalogRequest.frees) and shared a transaction that found the disk full. */
typedef Error *(*CatalogWork)(Connection *catalog, void *context);

/* A request to the writer. The caller owns the struct and keeps it until done was called. */
typedef struct CatalogRequest {
    CatalogWork work;
    void *context;
    /* the work makes room or ends something and adds only a few rows: it may use the room that is
     * kept for a full disk (disk_room.h) */
    bool frees;
    /* Called once, in the writer's thread, when the work is durable or has failed. The function may
     * post further requests and release this one. The writer does not write until the function
     * returns. */
    void (*done)(struct CatalogRequest *request, Error *owned_error);
    struct CatalogRequest *next; /* in the catalog's queue */
} CatalogRequest;

MUST_CHECK Error *catalog_open(Store *store, Catalog **out_catalog);
/* Runs all posted work, then stops the thread. Must be called before the store is closed. */
void catalog_close(Catalog *catalog);
DEFINE_OWN(Catalog, catalog_close);

/* Queues a request. Errors: EXHAUSTED CATALOG_QUEUE_MAX requests are waiting; done is not called
 * then.
 * Threads: any. */
MUST_CHECK Error *catalog_post(Catalog *catalog, CatalogRequest *request);
/* Posts work and waits for its commit. Errors: the work's own; EXHAUSTED; IO. Threads: any but the
 * writer's own. Blocks: until the commit. */
MUST_CHECK Error *catalog_run(Catalog *catalog, CatalogWork work, void *context);
/* Runs work that makes room, like catalog_run; see CatalogRequest.frees. */
MUST_CHECK Error *catalog_run_freeing(Catalog *catalog, CatalogWork work, void *context);

/* Returns the final failure, or NULL. Threads: any. */
MUST_CHECK Error *catalog_check(Catalog *catalog);

/* Runs work in a transaction of its own, in the calling thread. While a Catalog is open, it waits
 * for the group that is being written. The work is durable when the call returns. */
MUST_CHECK Error *catalog_run_directly(Store *store, CatalogWork work, void *context);
