#pragma once
/* Describes a checkpoint for people: where the execution is and which values are alive, without its
 * executable or a device. Callers: command_inspect.c, and job_import_check.c in scheduler/jobs.
 * Pure: no state, any thread. */
#include "kernels/tensor/shape.h"
#include "serialize/container/container.h"
#include "serialize/checkpoint/checkpoint.h"

typedef struct SummaryFrame {
    uint32_t function, pc;
    char *function_name, *instruction; /* NULL when the file does not name them */
} SummaryFrame;

typedef struct SummaryLive {
    uint32_t frame, index; /* the register */
    const char *kind;      /* static */
    DType dtype;           /* of a tensor */
    Shape shape;
    /* of tensors, storages and the contents of containers; 0 for constants, which are not in the
     * file */
    uint64_t bytes;
} SummaryLive;

typedef struct CheckpointSummary {
    CheckpointHeader header;
    bool has_execution; /* false: a job's file between two runs; the following fields are empty */
    uint32_t entry;     /* the function that the execution was started with */
    SummaryFrame *frames;
    uint32_t frame_count;
    SummaryLive *live;
    uint32_t live_count;
    uint64_t tensor_bytes; /* of all live storages */
    uint64_t instructions, kernel_calls, yields;
} CheckpointSummary;

/* Reads a summary. Only forms are checked; restoring checks the rest. Errors: CORRUPT. */
MUST_CHECK Error *checkpoint_summary_read(const Container *container, CheckpointSummary *out);
void checkpoint_summary_deinit(CheckpointSummary *summary);
#define OWN_SUMMARY(name) __attribute__((cleanup(checkpoint_summary_deinit))) name
