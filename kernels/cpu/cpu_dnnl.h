#pragma once
/* oneDNN behind plans: a primitive made for a plan and executed by many threads at once, plain
 * tensors at its border.
 *
 * A primitive is bound to the number of threads it was made for; a plan keeps one for each number
 * that launches asked for. All use the formats of the first, so that the bits do not depend on it
 * (tests/kernels/test_cpu_dnnl.c). */
#include <pthread.h>

#include <oneapi/dnnl/dnnl.h>

#include "kernels/activation.h"
#include "kernels/cpu/cpu_internal.h"

enum { DNNL_VARIANTS_MAX = 8, DNNL_OPERANDS_MAX = 4 };

typedef enum DnnlOperand {
    DNNL_OPERAND_SOURCE,
    DNNL_OPERAND_WEIGHTS,
    DNNL_OPERAND_BIAS,
    DNNL_OPERAND_RESULT
} DnnlOperand;

/* Makes the primitive's descriptor on the calling thread, whose OpenMP thread count is set.
 * formats: of the variants made before, or NULL for the first, which may choose. "Not me": *out
 * NULL. */
typedef Error *DnnlDescribe(const void *problem, CpuDevice *device,
    const dnnl_memory_desc_t *formats, const_dnnl_primitive_attr_t attributes,
    dnnl_primitive_desc_t *out);

typedef struct DnnlVariant {
    uint32_t threads;
    dnnl_primitive_t primitive;
} DnnlVariant;

/* A plan's state; `problem` follows it in memory. */
typedef struct DnnlPlan {
    CpuDevice *device;
    DnnlDescribe *describe;
    const void *problem;
    dnnl_primitive_attr_t attributes;
    pthread_mutex_t mutex; /* over variants being added */
    DnnlVariant variants[DNNL_VARIANTS_MAX];
    _Atomic uint32_t variant_count;
    /* As the tensors are, and as the primitive wants them; ndims 0: no such operand. */
    dnnl_memory_desc_t plain[DNNL_OPERANDS_MAX];
    dnnl_memory_desc_t wanted[DNNL_OPERANDS_MAX];
    dnnl_primitive_t
        reorders[DNNL_OPERANDS_MAX]; /* plain to wanted (result: wanted to plain); NULL: the same */
    dnnl_primitive_t residual_reorder;   /* plain to the wanted result; NULL with the same */
    uint64_t offsets[DNNL_OPERANDS_MAX]; /* in the workspace, of reordered operands */
    uint64_t scratch_offset;
    bool adds_residual; /* a sum post-op: the result's memory starts as the residual */
    bool result_is_empty;
} DnnlPlan;

/* What a kernel gives to make a plan. */
typedef struct DnnlProblem {
    DnnlDescribe *describe;
    const void *data;
    size_t size;
    dnnl_memory_desc_t plain[DNNL_OPERANDS_MAX];
    Activation activation;
    double alpha, beta; /* of the activation */
    float scale;        /* of the product, before everything else; 1: none */
    bool adds_residual;
    const char *name;
} DnnlProblem;

/* *out NULL where oneDNN has nothing better than its reference code. */
MUST_CHECK Error *cpu_dnnl_plan(
    Device *device, const PlanRequest *request, const DnnlProblem *problem, Plan **out);
/* A compact row-major descriptor. */
dnnl_memory_desc_t cpu_dnnl_plain(uint32_t rank, const int64_t *dims);
/* True for oneDNN's reference and other slow implementations. */
bool cpu_dnnl_is_slow(const_dnnl_primitive_desc_t description);
/* Runs f with this many OpenMP threads on the calling thread. */
void cpu_dnnl_set_threads(uint32_t threads);

/* cpu_dnnl_conv.c: packed weights of convolutions. */
MUST_CHECK Error *cpu_dnnl_conv_pack_rule(
    CpuDevice *device, const PackRequest *request, bool *out_packs, uint64_t *out_bytes);
MUST_CHECK Error *cpu_dnnl_conv_pack(
    CpuDevice *device, const PackRequest *request, const void *plain, void *to);
