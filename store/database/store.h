#pragma once
/* The home directory: one owner process, a catalog of models and jobs, and the chunks that the
 * catalog refers to. Opened by the daemon, or by a command that runs without one.
 *
 *   home/lock        the owner process's pid; it holds an flock on this file and on home itself
 *   home/catalog.db  SQLite, 4 KiB pages: tenants, tokens, models, versions, aliases, executables,
 *                    jobs with their data and events, references to chunks
 *   home/chunks.db   SQLite, 64 KiB pages: stored chunks by tenant and hash
 *   home/reserve     takes room on the disk for writes on a full disk (reserve.h)
 *   home/cache/weights  the files of weight_cache.h; may be deleted at any time
 *
 * Chunks become durable first, then one catalog transaction refers to them; deletion goes in the
 * reverse order. So a crash leaves the old state or the new one, and at worst unreferenced chunks
 * (gc.h). */
#include <stdint.h>

#include "base/error.h"
#include "base/own.h"
#include "store/database/store_types.h"

typedef enum StoreFlags {
    STORE_EXISTING = 0, /* NOT_FOUND when there is no store */
    STORE_CREATE = 1,   /* makes the directory (mode 0700) and an empty store when there is none */
} StoreFlags;

/* $LAYOVER_HOME, else $XDG_DATA_HOME/layover, else $HOME/.local/share/layover; release with
 * memory_free. Errors: NOT_FOUND when none of them is set. */
MUST_CHECK Error *store_default_home(char **out_home);

/* Locks the home and opens its store, upgrading its tables. The lock of a killed owner is gone.
 *
 * Errors: REFUSED another process holds the home (the message names its pid); NOT_FOUND;
 *         UNSUPPORTED a newer version made the store; CORRUPT not a store; EXHAUSTED the disk is
 *         full; IO.
 * Threads: afterwards any, for every function of this folder that takes a Store, unless the
 *          function says otherwise. */
MUST_CHECK Error *store_open(const char *home, StoreFlags flags, Store **out_store);
/* Closes the store. Everything opened from it (uploads, readers, executables) must be closed
 * before. */
void store_close(Store *store);
DEFINE_OWN(Store, store_close);

/* Opens the writers early, while the disk has room for their logs; otherwise the first change opens
 * them. Errors: as a change. */
MUST_CHECK Error *store_take_room(Store *store);

/* The home as given to store_open. The store owns the text. */
const char *store_home(const Store *store);

/* Returns a number that grows with every commit that changes tenants, tokens or models. Settings
 * that were read after this call are valid while the number stays the same. */
uint64_t store_settings_generation(const Store *store);

/* Errors: NOT_FOUND. */
MUST_CHECK Error *store_find_tenant(Store *store, const char *name, TenantId *out_tenant);
