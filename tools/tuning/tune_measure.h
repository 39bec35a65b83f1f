#pragma once
/* One call of an operator whose constant is packed by the rules that its device has just now: for
 * measuring one kernel beside another. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

enum { TUNE_INPUTS_MAX = 3, TUNE_COPIES_MAX = 64, TUNE_ATTRIBUTES_SIZE = 128 };

typedef struct TuneCall {
    OperatorId operator_id;
    char attributes[TUNE_ATTRIBUTES_SIZE];
    uint32_t input_count;
    Shape inputs[TUNE_INPUTS_MAX]; /* of float32; input 1 is the constant */
} TuneCall;

/* Prepared: a plan and its operands. */
typedef struct TuneWay {
    Device *device; /* borrowed */
    Plan *plan;
    uint32_t layout; /* of the constant */
    uint64_t inputs[TUNE_INPUTS_MAX], input_bytes[TUNE_INPUTS_MAX];
    uint64_t output, output_bytes, workspace;
    /* The constant several times over, used by turns: as in a network, whose layers leave no room
     * in the caches for each other's weights. The first is inputs[1]. */
    uint64_t copies[TUNE_COPIES_MAX];
    uint32_t copy_count, copy_next;
} TuneWay;

/* Also on failure what there is of it is released with tune_way_close. */
MUST_CHECK Error *tune_way_open(Device *device, const TuneCall *call, TuneWay *out);
void tune_way_close(TuneWay *way);
/* Launches it so often, one after the other; on success *out_ns is one launch's mean. */
MUST_CHECK Error *tune_way_run(TuneWay *way, uint32_t threads, uint32_t launches, double *out_ns);
