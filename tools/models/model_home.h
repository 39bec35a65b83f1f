#pragma once
/* Models in an open home, for programs that use it without a daemon. Callers: the command line and
 * the C library. Threads: one at a time for a pool. */
#include "base/worker_pool.h"
#include "store/database/store.h"
#include "store/upkeep/fsck.h"
#include "vm/code/executable.h"

/* Packs the weights of a model of the home for this machine's cpu and keeps them there, unless the
 * cache has them, so that the first run packs nothing. executable: with its identity and weights.
 */
MUST_CHECK Error *model_home_prepare(Store *store, WorkerPool *pool, Executable *executable);

/* Runs the checks of fsck with those of scheduler/node.
 *
 * options:     pool, and the checks of manifests and policies are set here.
 * repair_from: NULL, or the path of an exported file that has what is damaged. */
MUST_CHECK Error *model_home_check(Store *store, WorkerPool *pool, const FsckOptions *options,
    const char *repair_from, FsckResult **out_result);
