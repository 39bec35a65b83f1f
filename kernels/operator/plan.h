#pragma once
/* A plan: one kernel prepared for concrete shapes and element types. Made by a device's plan
 * function once per (device, operator, attributes, shapes, dtypes, layouts); launched many times by
 * many executions, on any number of threads at once. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/refcount.h"
#include "kernels/operator/attributes.h"
#include "kernels/device/device.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor_spec.h"

enum { PLAN_INPUTS_MAX = 256, PLAN_OUTPUTS_MAX = 64 };

typedef struct PlanRequest {
    const OperatorInfo *operator_info;
    const Attributes *attributes;
    uint32_t input_count;
    uint32_t output_count; /* outputs wanted; trailing optional ones may be left out */
    const TensorSpec *inputs;
    /* Host bytes of the inputs that the operator's shape rule reads (values(i)); NULL for all other
     * inputs. Compact, of the spec's dtype and shape, valid only during the call. */
    const void *const *values;
    /* Filled by operator_infer before a device's plan function sees the request. For shape kind
     * `data` a dimension that depends on the data is -1. */
    TensorSpec outputs[PLAN_OUTPUTS_MAX];
} PlanRequest;

/* Whether the request has that input. */
static inline bool plan_request_has(const PlanRequest *request, uint32_t index) {
    return index < request->input_count && request->inputs[index].present;
}

/* The bytes of an input in the plain layout that a launch receives: none for an absent one, and
 * none for one that the shape rule reads by value. Errors: INVALID beyond the limits of a shape. */
MUST_CHECK Error *plan_request_input_bytes(
    const PlanRequest *request, uint32_t index, uint64_t *out);

/* A constant operand of an operator that is to be packed, with everything that its layout may
 * depend on. */
typedef struct PackRequest {
    const OperatorInfo *operator_info;
    const Attributes *attributes;
    uint32_t input_index;
    TensorSpec constant; /* plain */
} PackRequest;

/* The arguments of one launch. Addresses belong to the plan's device. */
typedef struct Launch {
    /* input_count addresses; 0 for absent inputs, for zero-size tensors and for inputs that the
     * shape rule reads by value, which are part of the plan. */
    const uint64_t *inputs;
    const uint64_t *outputs; /* output_count addresses; an output may equal input i where the
                                operator's in-place pairs allow it */
    DeviceStream *stream;    /* the queue; NULL: the work is done when the call returns */
    uint64_t workspace;  /* plan->workspace_bytes, DEVICE_ALIGNMENT-aligned; contents undefined */
    uint32_t threads;    /* how many threads this launch may use; never changes the bits */
    uint64_t philox_key; /* counter-based random numbers: draws start at philox_counter */
    uint64_t philox_counter;
} Launch;

/* The kind of kernel that a plan runs. */
typedef enum PlanOrigin {
    PLAN_OF_DEVICE = 0, /* a kernel of the device itself (plan_create sets this) */
    PLAN_OF_EXPANSION,  /* the plain operators that a fused one stands for */
    PLAN_OF_HOST,       /* the host's kernel, with the operands copied there and back */
} PlanOrigin;

typedef struct Plan Plan;
struct Plan {
    Refcount refcount;
    struct Device *device;   /* borrowed: outlives its plans */
    const char *kernel_name; /* static, for --profile and devices --kernels */
    PlanOrigin origin;
    uint64_t workspace_bytes;
    uint64_t philox_draws; /* how far the execution's counter moves when the launch completes */
    uint32_t input_count;
    uint32_t output_count;
    /* Bit o * 8 + i: output o may be written over input i (o, i < 8): shapes and kernel allow it.
     */
    uint64_t in_place;
    const TensorSpec *outputs;
    /* Output 0 is input 0 under another shape or element type (Reshape, Squeeze, Identity …): no
     * work is launched, and launch is NULL. */
    bool view;
    /* Only for shape kind `data`: computes the missing dimensions; NULL otherwise. The interpreter
     * calls this function before it allocates outputs. out_shapes: output_count entries, prefilled
     * from outputs. Waits for the launch's stream. */
    Error *(*measure)(const Plan *plan, const Launch *launch, Shape *out_shapes);
    /* Only if an output's elements have no fixed size (strings); NULL otherwise. Called after
     * measure, in the same way. shapes: the outputs' final shapes, output_count; out_bytes:
     * output_count, of which only those of such outputs are set and read. */
    Error *(*measure_bytes)(
        const Plan *plan, const Launch *launch, const Shape *shapes, uint64_t *out_bytes);
    Error *(*launch)(const Plan *plan, const Launch *launch, const Shape *output_shapes);
    /* plan_create sets plan_free. A kernel that owns more sets its own function, which ends with
     * plan_free. */
    void (*destroy)(Plan *plan);
    /* The duration of a long launch when it was last waited for; 0: not known. For people. */
    _Atomic uint64_t took_ns;
};

/* Allocates a plan followed by state_size cleared bytes of kernel state (plan_state), with outputs
 * copied from the request. in_place is set for the operator's pairs whose shapes and element sizes
 * agree; a kernel that cannot write over such an input clears the bit. */
MUST_CHECK Error *plan_create(struct Device *device, const PlanRequest *request,
    const char *kernel_name, size_t state_size, Plan **out);
/* The kernel's state, aligned to 16 bytes. */
void *plan_state(const Plan *plan);
/* Makes a plan whose output 0 is input 0 under another shape. */
MUST_CHECK Error *plan_create_view(struct Device *device, const PlanRequest *request, Plan **out);
void plan_free(Plan *plan);
Plan *plan_retain(Plan *plan);
void plan_release(Plan *plan);
DEFINE_OWN(Plan, plan_release);
