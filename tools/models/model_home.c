#include "tools/models/model_home.h"

#include "kernels/registry/device_registry.h"
#include "scheduler/executor/cached_images.h"
#include "scheduler/node/job_policy.h"
#include "scheduler/node/model_loader.h"
#include "vm/residency/residency.h"

Error *model_home_prepare(Store *store, WorkerPool *pool, Executable *executable) {
    OWN(WeightCache, weights) = NULL;
    OWN(Device, host) = NULL;
    TRY(weight_cache_open(store_home(store), 0, &weights));
    const WeightImages images = cached_images(weights);
    TRY(device_open("cpu", &host));
    return residency_prepare(executable, host, &images, pool);
}

Error *model_home_check(Store *store, WorkerPool *pool, const FsckOptions *options,
    const char *repair_from, FsckResult **out_result) {
    OWN(Container, copy) = NULL;
    ChunkSource source = {0};
    FsckOptions complete = *options;
    if (repair_from) {
        TRY(container_open_path(CONTAINER_ANY, repair_from, &copy));
        source = container_get_source(copy);
        complete.repair_from = &source;
    }
    complete.pool = pool;
    complete.check_manifest = model_loader_check_manifest;
    complete.check_policy = job_policy_check;
    return fsck_run(store, &complete, out_result);
}
