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
    TRY(container_answer_add(answer, refs, count));
    const ByteReader manifest = container_get_manifest(container);
    const uint64_t bytes = manifest.size + count * sizeof *refs;
    return container_answer_finish(
        TAKE(answer), manifest.data, manifest.size, TAKE(stored), close_stored, bytes, out_stream);
}
