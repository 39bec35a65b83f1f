#pragma once
/* Measures one call of an operator whose constant is packed by the device's present rules, to
 * compare one kernel with another. Caller: layover_tune.c. Threads: the main thread. */
#include "kernels/device/device.h"
#include "kernels/operator/plan.h"

enum { TUNE_INPUTS_MAX = 3, TUNE_COPIES_MAX = 64, TUNE_ATTRIBUTES_SIZE = 128 };

typedef struct TuneCall {
    OperatorId operator_id;
    char attributes[TUNE_ATTRIBUTES_SIZE];
    uint32_t input_count;
    Shape inputs[TUNE_INPUTS_MAX]; /* of float32; input 1 is the constant */
} TuneCall;

/* A prepared call: a plan and its operands. */
typedef struct TuneWay {
    Device *device; /* borrowed */
    Plan *plan;
    uint32_t layout; /* layout of the constant */
    uint64_t inputs[TUNE_INPUTS_MAX], input_bytes[TUNE_INPUTS_MAX];
    uint64_t output, output_bytes, workspace;
    /* Copies of the constant, used by turns, as in a network whose layers displace each other's
     * weights from the caches. The first one is inputs[1]. */
    uint64_t copies[TUNE_COPIES_MAX];
    uint32_t copy_count, copy_next;
} TuneWay;

/* Prepares a call. tune_way_close releases it, also after an error. */
MUST_CHECK Error *tune_way_open(Device *device, const TuneCall *call, TuneWay *out);
void tune_way_close(TuneWay *way);
/* Launches the call so often, one after the other; *out_ns is the mean of one launch on success. */
MUST_CHECK Error *tune_way_run(TuneWay *way, uint32_t threads, uint32_t launches, double *out_ns);
