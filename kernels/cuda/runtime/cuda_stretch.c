#include "kernels/cuda/runtime/cuda_stretch.h"

#include "base/allocator.h"
#include "kernels/cuda/runtime/cuda_scope.h"

typedef struct Seen {
    uint64_t signature; /* 0: free */
    uint64_t next;      /* signature of the stretch that followed last time; 0: none yet */
    bool steady;        /* the same stretch followed as the time before */
    uint32_t launches, refusals;
    CUgraphExec graph; /* NULL: not made yet */
    uint64_t used;     /* time of the last use */
} Seen;

struct CudaStretch {
    CUstream queue, recorder; /* the latter only ever captures */
    Seen seen[CUDA_STRETCH_KEPT_MAX];
    uint64_t time;     /* counts stretches */
    uint64_t previous; /* signature of the stretch before; 0: none */
    Error *error;      /* of launches that were recorded but did not run */
    /* the present stretch */
    uint64_t signature;
    uint32_t launches;
    bool recording;
    const char *first, *last;
};

/* FNV-1a on whole words. A signature of 0 is never found again, which only costs the gain. */
static const uint64_t SIGNATURE_START = 0xcbf29ce484222325, SIGNATURE_PRIME = 0x100000001b3;

Error *cuda_stretch_create(CudaDevice *device, CUstream queue, CudaStretch **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(CudaStretch), &memory));
    CudaStretch *stretch = memory;
    int result = device->api->cuStreamCreate(&stretch->recorder, CU_STREAM_NON_BLOCKING);
    Error *error = cuda_check(device, result, "cuStreamCreate");
    if (error) {
        memory_free(stretch);
        return error;
    }
    stretch->queue = queue;
    *out = stretch;
    return NULL;
}

static void drop_graph(const CudaDevice *device, Seen *seen) {
    if (seen->graph) (void)device->api->cuGraphExecDestroy(seen->graph);
    seen->graph = NULL;
}

void cuda_stretch_release(CudaDevice *device, CudaStretch *stretch) {
    if (!stretch) return;
    CUgraph graph = NULL;
    if (stretch->recording) (void)device->api->cuStreamEndCapture(stretch->recorder, &graph);
    if (graph) (void)device->api->cuGraphDestroy(graph);
    for (uint32_t i = 0; i < CUDA_STRETCH_KEPT_MAX; i++) drop_graph(device, &stretch->seen[i]);
    (void)device->api->cuStreamDestroy_v2(stretch->recorder);
    error_free(stretch->error);
    memory_free(stretch);
}

/* ---- earlier stretches ---- */

/* NULL: the stretch is new, or its place was reused. */
static Seen *find(CudaStretch *stretch, uint64_t signature) {
    for (uint32_t i = 0; signature && i < CUDA_STRETCH_KEPT_MAX; i++)
        if (stretch->seen[i].signature == signature) return &stretch->seen[i];
    return NULL;
}

/* Finds the present stretch, or puts it in place of the one that was unused for longest. */
static Seen *find_or_add(CudaDevice *device, CudaStretch *stretch) {
    Seen *seen = find(stretch, stretch->signature), *oldest = &stretch->seen[0];
    if (seen) return seen;
    for (uint32_t i = 1; i < CUDA_STRETCH_KEPT_MAX; i++)
        if (stretch->seen[i].used < oldest->used) oldest = &stretch->seen[i];
    drop_graph(device, oldest);
    *oldest = (Seen){.signature = stretch->signature, .launches = stretch->launches};
    return oldest;
}

static Seen *note_present(CudaDevice *device, CudaStretch *stretch) {
    Seen *before = find(stretch, stretch->previous);
    if (before) {
        before->steady = !before->next || before->next == stretch->signature;
        before->next = stretch->signature;
    }
    Seen *seen = find_or_add(device, stretch);
    seen->used = ++stretch->time;
    stretch->previous = stretch->signature;
    return seen;
}

/* True when the next stretch is likely to repeat an earlier one, so that recording pays. */
static bool is_due(CudaStretch *stretch) {
    const Seen *before = find(stretch, stretch->previous);
    const Seen *next = before && before->steady ? find(stretch, before->next) : NULL;
    return next && next->launches >= CUDA_STRETCH_LAUNCHES_MIN &&
           next->refusals < CUDA_STRETCH_REFUSALS_MAX;
}

/* ---- the present stretch ---- */

Error *cuda_stretch_add(
    CudaDevice *device, CudaStretch *stretch, const char *name, uint64_t key, CUstream *out) {
    bool goes_on = stretch->launches == CUDA_STRETCH_LAUNCHES_MAX;
    if (goes_on) cuda_stretch_end(device, stretch);
    if (stretch->error) return error_copy(stretch->error);
    if (stretch->launches == 0) {
        bool due = is_due(stretch);
        /* relaxed: another thread may use the stream next, and may ask the driver for memory; only
         * recorded launches are queued on the recorder */
        if (due)
            CUDA_TRY(
                device, cuStreamBeginCapture_v2, stretch->recorder, CU_STREAM_CAPTURE_MODE_RELAXED);
        stretch->recording = due;
        /* starts from the part before, so that equal parts of a long stretch have different
         * signatures */
        stretch->signature = goes_on ? stretch->previous : SIGNATURE_START;
        stretch->first = name;
    }
    stretch->signature = (stretch->signature ^ key) * SIGNATURE_PRIME;
    stretch->signature ^= stretch->signature >> 32;
    stretch->last = name;
    stretch->launches++;
    *out = stretch->recording ? stretch->recorder : stretch->queue;
    return NULL;
}

/* Frees memory for a graph: the other graphs of this stream, and the idle memory of the pool. */
static int make_room(CudaDevice *device, CudaStretch *stretch) {
    for (uint32_t i = 0; i < CUDA_STRETCH_KEPT_MAX; i++) drop_graph(device, &stretch->seen[i]);
    int result = device->api->cuStreamSynchronize(stretch->queue);
    return result == CUDA_SUCCESS ? device->api->cuMemPoolTrimTo(device->pool, 0) : result;
}

static Error *instantiate(CudaDevice *device, CudaStretch *stretch, CUgraph graph, Seen *seen) {
    CUgraphExec executable;
    int result = device->api->cuGraphInstantiateWithFlags(&executable, graph, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        result = make_room(device, stretch);
        if (result == CUDA_SUCCESS)
            result = device->api->cuGraphInstantiateWithFlags(&executable, graph, 0);
    }
    TRY(cuda_check(device, result, "cuGraphInstantiateWithFlags"));
    seen->graph = executable;
    return NULL;
}

/* Updates the stretch's graph with the captured one's parameters; drops it if that is
 * impossible. */
static Error *update(CudaDevice *device, CUgraph graph, Seen *seen) {
    CUgraphExecUpdateResultInfo info = {0};
    if (!seen->graph) return NULL;
    int result = device->api->cuGraphExecUpdate_v2(seen->graph, graph, &info);
    if (result == CUDA_SUCCESS) return NULL;
    drop_graph(device, seen);
    if (result != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)
        return cuda_check(device, result, "cuGraphExecUpdate");
    seen->refusals++;
    return NULL;
}

static Error *launch(CudaDevice *device, CudaStretch *stretch, CUgraph graph, Seen *seen) {
    TRY(update(device, graph, seen));
    if (!seen->graph) TRY(instantiate(device, stretch, graph, seen));
    CUDA_TRY(device, cuGraphLaunch, seen->graph, stretch->queue);
    return NULL;
}

static Error *launch_recorded(CudaDevice *device, CudaStretch *stretch, Seen *seen) {
    CUgraph graph = NULL;
    CUDA_TRY(device, cuStreamEndCapture, stretch->recorder, &graph);
    Error *error = launch(device, stretch, graph, seen);
    (void)device->api->cuGraphDestroy(graph);
    return error;
}

/* Recodes the error: after EXHAUSTED a caller would free memory and repeat only the last launch,
 * and the recorded ones would be lost. */
static void note_error(CudaStretch *stretch, Error *owned_error) {
    if (error_code(owned_error) != ERROR_DEVICE_LOST)
        owned_error = error_recode(owned_error, ERROR_FAILED);
    owned_error = error_wrap(owned_error, "%u launches from %s to %s did not run",
        stretch->launches, stretch->first, stretch->last);
    if (stretch->error)
        error_free(owned_error); /* the first error has the reason */
    else
        stretch->error = owned_error;
}

void cuda_stretch_end(CudaDevice *device, CudaStretch *stretch) {
    if (stretch->launches == 0) return;
    Seen *seen = note_present(device, stretch);
    if (stretch->recording) {
        Error *error = launch_recorded(device, stretch, seen);
        if (error) note_error(stretch, error);
    }
    stretch->launches = 0;
    stretch->recording = false;
}

Error *cuda_stretch_tell(CudaStretch *stretch) { return TAKE(stretch->error); }
