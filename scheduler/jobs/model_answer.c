#include "scheduler/jobs/model_answer.h"

#include "scheduler/jobs/container_answer.h"
#include "scheduler/node/model_loader.h"

static void close_stored(void *stored) { stored_executable_close(stored); }

Error *model_answer_open(
    Store *store, TenantId tenant, const Digest *identity, HttpStream *out_stream) {
    OWN(StoredExecutable, stored) = NULL;
    OWN(Container, container) = NULL;
    OWN(ContainerAnswer, answer) = NULL;
    size_t count;
    TRY(model_loader_open(store, tenant, identity, &stored, &container));
    TRY(container_answer_create(store, tenant, &answer));
    const ChunkRef *refs = container_get_refs(container, &count);
    Error *error = container_answer_add(answer, refs, count);
    if (!error) {
        const ByteReader manifest = container_get_manifest(container);
        const uint64_t bytes = manifest.size + count * sizeof *refs;
        StoredExecutable *keeper = TAKE(stored);
        error = container_answer_finish(
            TAKE(answer), manifest.data, manifest.size, keeper, close_stored, bytes, out_stream);
    }
    container_release(TAKE(container)); /* it reads from the executable no more */
    return error;
}
