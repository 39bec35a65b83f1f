#pragma once
/* The catalog's writer thread: work from any thread, committed in groups.
 *
 * What arrives while one group is being made durable becomes the next group: one transaction, one
 * sync. Each piece of work runs in a savepoint of its own, so what fails leaves nothing behind and
 * takes nobody along.
 *
 * Failures of a whole group: a full disk fails it with EXHAUSTED, and the next group is tried
 * again. An IO failure is final: what the disk holds is then unknown, so every later request fails
 * with it, and whoever runs the store stops and opens it anew. */
#include <stdbool.h>
#include <stddef.h>

#include "store/database/store.h"

typedef struct Catalog Catalog;

enum {
    CATALOG_GROUP_MAX = 1024,  /* pieces of work in a transaction */
    CATALOG_QUEUE_MAX = 65536, /* requests that wait */
};

/* Reads and writes rows through the functions that take a Connection. Runs in the writer's thread;
 * must not wait for anything. An error undoes all of it. */
typedef Error *(*CatalogWork)(Connection *catalog, void *context);

/* A request to the writer. The struct is the caller's and stays until done was called. */
typedef struct CatalogRequest {
    CatalogWork work;
    void *context;
    bool frees; /* it makes room or ends something, and adds a few rows at most: it may use what is
                 * kept for that on a full disk (disk_room.h) */
    /* Called once, in the writer's thread, when the work is durable or has failed. It may post
     * further requests and release this one; while it runs nothing else is written. */
    void (*done)(struct CatalogRequest *request, Error *owned_error);
    struct CatalogRequest *next; /* the catalog's, while it waits */
} CatalogRequest;

MUST_CHECK Error *catalog_open(Store *store, Catalog **out_catalog);
/* Runs what was posted before. Closed before its store. */
void catalog_close(Catalog *catalog);
DEFINE_OWN(Catalog, catalog_close);

/* Errors: EXHAUSTED CATALOG_QUEUE_MAX requests wait already; done is then not called. Threads: any.
 */
MUST_CHECK Error *catalog_post(Catalog *catalog, CatalogRequest *request);
/* Posts and waits. Errors: the work's own; EXHAUSTED; IO. Threads: any but the writer's own.
 * Blocks: until the commit. */
MUST_CHECK Error *catalog_run(Catalog *catalog, CatalogWork work, void *context);
/* The same for work that makes room; see CatalogRequest. */
MUST_CHECK Error *catalog_run_freeing(Catalog *catalog, CatalogWork work, void *context);

/* The final failure, if there was one. Threads: any. */
MUST_CHECK Error *catalog_check(Catalog *catalog);

/* The same work in a transaction of its own, in the calling thread; beside an open Catalog it waits
 * for the group that is being written. Durable when it returns. */
MUST_CHECK Error *catalog_run_directly(Store *store, CatalogWork work, void *context);
