#pragma once
/* What a checkpoint holds, for people: where it stands and what is alive, without its executable or
 * any device. */
#include "kernels/tensor/shape.h"
#include "serialize/container/container.h"
#include "serialize/checkpoint/checkpoint.h"

typedef struct SummaryFrame {
    uint32_t function, pc;
    char *function_name, *instruction; /* NULL where the file does not name them */
} SummaryFrame;

typedef struct SummaryLive {
    uint32_t frame, index; /* register */
    const char *kind;      /* static */
    DType dtype;           /* of tensors */
    Shape shape;
    uint64_t bytes; /* of tensors, storages and what containers hold; 0 for constants, which are not
                       in the file */
} SummaryLive;

typedef struct CheckpointSummary {
    CheckpointHeader header;
    bool has_execution; /* false: a job's file between two runs; what follows is empty */
    uint32_t entry;     /* the function that it was started with */
    SummaryFrame *frames;
    uint32_t frame_count;
    SummaryLive *live;
    uint32_t live_count;
    uint64_t tensor_bytes; /* of all live storages */
    uint64_t instructions, kernel_calls, yields;
} CheckpointSummary;

/* Errors: CORRUPT. Only forms are checked: restoring checks the rest. */
MUST_CHECK Error *checkpoint_summary_read(const Container *container, CheckpointSummary *out);
void checkpoint_summary_deinit(CheckpointSummary *summary);
#define OWN_SUMMARY(name) __attribute__((cleanup(checkpoint_summary_deinit))) name
