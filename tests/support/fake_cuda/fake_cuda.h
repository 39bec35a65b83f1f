#pragma once
/* A CUDA driver without a GPU, so that the cuda plugin runs where there is none: it is built as
 * libcuda.so.1, with a libcublasLt.so.13, a libcudnn.so.9 and a libnvrtc.so.13 beside it, and found
 * through LD_LIBRARY_PATH.
 *
 * Streams are threads, and what is queued on them runs later, in no order but the stream's and the
 * events'. Device memory cannot be read or written by the host: it is accessible only while a
 * command runs. Kernels are those of kernels/cuda/device, compiled for the host. It is stricter
 * than a real driver: copies from and to host memory that is not pinned are refused, and a capture
 * takes kernels, products, copies inside the device and values set in it, nothing else.
 *
 * Environment, read when a device's primary context is retained first (the first two: always):
 *   FAKE_CUDA_VERSION     of the driver: 13000
 *   FAKE_CUDA_DEVICES     how many: 2
 *   FAKE_CUDA_MEMORY      bytes of each: 268435456
 *   FAKE_CUDA_LAG_US      how long every command waits at least: 0
 *   FAKE_CUDA_LOSE_AFTER  the launch that spoils the context: none
 *   FAKE_CUDNN_STATUS     what cudnnCreate answers instead of a handle: none
 * and when the process ends:
 *   FAKE_CUDA_COUNTS      a file that gets the counts of FakeControl, as JSON: none */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "kernels/cuda/driver/cuda_driver.h"

enum { FAKE_DEVICES_MAX = 4, CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_NOT_READY = 600 };

struct CUctx_st {
    int device;
    int retained;
    int error; /* once spoiled, what every call answers */
    uint64_t memory_bytes, used_bytes, lag_us, lose_after, launches;
};

typedef struct FakeCommand FakeCommand;
struct FakeCommand {
    int (*run)(
        FakeCommand *self); /* on the stream's thread; a result other than 0 spoils the context */
    struct CUctx_st *context;
    uint64_t to, from, size;
    void *host;
    uint32_t value;
    bool capturable;
    CUevent event; /* the command records it, or waits for it when `waits` */
    uint64_t number;
    bool waits;
    bool always; /* runs in a spoiled context, too: what gives back */
    int kernel;
    void (*compiled)(const void *params, uint64_t block, uint64_t blocks); /* instead of `kernel` */
    uint32_t blocks[3], threads[3], shared_bytes;
    FakeCommand *next;
    uint64_t params_size;
    uint8_t params[]; /* of a kernel */
};

/* One mutex guards everything of the driver. `changed` is told of every stream that has run all of
 * its commands, of every event that is reached and of every context that is spoiled; nobody waits
 * for anything else. */
__attribute__((visibility("default"))) extern pthread_mutex_t fake_mutex;
extern pthread_cond_t fake_changed;

/* What tests set and read; found by its name in the loaded library. Under the mutex, or while
 * nothing is called. */
typedef struct FakeControl {
    /* The nth call from here on of what can fail answers so, without an effect but that captures
     * under way are spoiled. 0: none. */
    uint64_t fail_nth;
    int fail_result;
    const char *fail_function; /* only calls of this one count; NULL: all */
    /* Counts. */
    uint64_t kernels, captures, instantiations, updates, graph_launches;
    uint64_t mistakes; /* what a real driver refuses and no caller should try */
    uint64_t graphs;   /* of both kinds, not destroyed */
} FakeControl;
__attribute__((visibility("default"))) extern FakeControl fake_control;
/* The result that a call of the function is to have; CUDA_SUCCESS for most. Under the mutex. */
__attribute__((visibility("default"))) int fake_control_fail(const char *function);

/* ---- fake_memory.c; under the mutex ---- */

/* 0: no room. */
uint64_t fake_memory_alloc(struct CUctx_st *context, uint64_t size);
bool fake_memory_free(struct CUctx_st *context, uint64_t address);
/* Whether one block of the context holds all of it. */
bool fake_memory_holds(const struct CUctx_st *context, uint64_t address, uint64_t size);
/* Without the mutex: the calling thread can access the bytes from open to close; several threads
 * may have them open. */
void fake_memory_open(void);
void fake_memory_close(void);
/* Pinned host memory. */
void *fake_memory_pin(uint64_t size);
bool fake_memory_unpin(void *block);
bool fake_memory_is_pinned(const void *block, uint64_t size);

/* What a stream is recording; see fake_graph.c. Under the mutex. */
struct CUgraph_st **fake_stream_capture(CUstream stream);

/* ---- fake_graph.c; under the mutex ---- */

/* Takes the command where the stream records. Answers a CUresult. */
int fake_graph_add(struct CUgraph_st *graph, FakeCommand *owned_command);
void fake_graph_spoil(struct CUgraph_st *graph);
/* All that are being recorded. */
void fake_graph_spoil_all(void);

/* ---- fake_stream.c ---- */

/* A cleared command with room for size bytes of parameters. */
__attribute__((visibility("default"))) FakeCommand *fake_command_create(uint64_t size);
void fake_command_release(FakeCommand *command);
/* Gives the command to the stream, or drops it when the context is spoiled. Answers a CUresult. */
__attribute__((visibility("default"))) int fake_stream_push(
    CUstream stream, FakeCommand *owned_command);
