#pragma once
/* The home directory: one owner process, a catalog of models and jobs, and the chunks that the
 * catalog refers to.
 *
 *   home/lock        the owner process's pid; it holds an flock on this file and on home itself
 *   home/catalog.db  SQLite, 4 KiB pages: tenants, tokens, models, versions, aliases, executables,
 *                    jobs with their data and events, references to chunks
 *   home/chunks.db   SQLite, 64 KiB pages: stored chunks by tenant and hash
 *   home/reserve     takes room on the disk for what must be written when there is none (reserve.h)
 *   home/cache/weights  what weight_cache.h keeps; may be deleted at any time
 *
 * Chunks become durable first, then one catalog transaction refers to them; deletion goes the other
 * way round. So a crash leaves the old state or the new one, and at worst chunks that nobody refers
 * to (gc.h). */
#include <stdint.h>

#include "base/error.h"

typedef struct Store Store;

/* Where rows of the catalog are read and written: inside a piece of catalog work (catalog.h), in
 * the writer's thread. */
typedef struct Connection Connection;

/* A tenant's row in the catalog. Rows of other tenants are never seen. */
typedef int64_t TenantId;
enum {
    TENANT_DEFAULT = 1,    /* "default", in every store */
    TENANT_NAME_SIZE = 65, /* with the terminating NUL */
};

enum { EXECUTABLE_MANIFEST_SIZE_MAX = 64 << 20 }; /* as stored; the longest row of the catalog */

typedef enum StoreFlags {
    STORE_EXISTING = 0, /* NOT_FOUND when there is no store */
    STORE_CREATE = 1,   /* makes the directory (mode 0700) and an empty store when there is none */
} StoreFlags;

/* $LAYOVER_HOME, else $XDG_DATA_HOME/layover, else $HOME/.local/share/layover; release with
 * memory_free. Errors: NOT_FOUND when none of them is set. */
MUST_CHECK Error *store_default_home(char **out_home);

/* Takes the home and opens its store, bringing its tables up to date. A killed owner holds nothing.
 *
 * Errors: REFUSED another process holds the home (the message names its pid); NOT_FOUND;
 * UNSUPPORTED made by a newer version; CORRUPT not a store; EXHAUSTED the disk is full; IO.
 * Threads: afterwards any, for every function of this folder that takes a Store, unless it says
 * otherwise. */
MUST_CHECK Error *store_open(const char *home, StoreFlags flags, Store **out_store);
/* Everything opened from the store (uploads, readers, executables) must be closed before. */
void store_close(Store *store);
DEFINE_OWN(Store, store_close);

/* Opens what writes, which otherwise the first change does, while there is room for its logs; so
 * they have it when the disk is full. Errors: as a change. */
MUST_CHECK Error *store_take_room(Store *store);

/* Borrowed; as given to store_open. */
const char *store_home(const Store *store);

/* Moves on with every commit that changes tenants, tokens or models: what was read of them after
 * asking for it holds as long as it stays. */
uint64_t store_settings_generation(const Store *store);

/* Errors: NOT_FOUND. */
MUST_CHECK Error *store_find_tenant(Store *store, const char *name, TenantId *out_tenant);
