#pragma once
/* oneDNN in plans: primitives made for a plan and executed by many threads at once, with plain
 * tensors as operands. Called by cpu_dnnl_conv.c, cpu_dnnl_matmul.c, cpu_conv.c and cpu_pack.c.
 *
 * oneDNN splits its work by the number of threads, and the bits depend on the split. So every
 * primitive here is made for one thread, and parallel work is cut into bands (images, rows of an
 * image, rows of a matrix) by shapes alone; the bits of a band do not depend on the thread that
 * computes it. */
#include "kernels/operator/activation.h"
#include "kernels/cpu/dnnl/cpu_dnnl_library.h"
#include "kernels/cpu/core/cpu_internal.h"

enum { DNNL_KINDS_MAX = 6, DNNL_BANDS_MAX = 64, DNNL_OPERANDS_MAX = 4 };

typedef enum DnnlOperand {
    DNNL_OPERAND_SOURCE,
    DNNL_OPERAND_WEIGHTS,
    DNNL_OPERAND_BIAS,
    DNNL_OPERAND_RESULT
} DnnlOperand;

/* One band: the kind of its primitive, and the beginning of its operands. */
typedef struct DnnlBand {
    uint32_t kind;
    uint64_t offsets[DNNL_OPERANDS_MAX]; /* bytes */
} DnnlBand;

/* The description from which a plan is made. Descriptors are consumed, also on failure. */
typedef struct DnnlProblem {
    const char *name;
    dnnl_primitive_desc_t kinds[DNNL_KINDS_MAX]; /* single-threaded; NULL for unused ones */
    /* The whole operands in the tensors' form, and in the primitives' form; ndims 0: no such
     * operand. */
    dnnl_memory_desc_t plain[DNNL_OPERANDS_MAX], wanted[DNNL_OPERANDS_MAX];
    DnnlBand bands[DNNL_BANDS_MAX]; /* of one image */
    uint32_t band_count;
    uint64_t image_count; /* each image is cut into the bands */
    uint64_t
        image_bytes[DNNL_OPERANDS_MAX]; /* from image to image, in the wanted form; 0: shared */
    bool adds_residual; /* a sum post-op: the result's memory starts as the residual */
} DnnlProblem;

MUST_CHECK Error *cpu_dnnl_plan(
    Device *device, const PlanRequest *request, DnnlProblem *owned_problem, Plan **out);
void cpu_dnnl_problem_deinit(DnnlProblem *problem);

/* Activation, residual, scale of the product (1: none); the caller provides the scratch. */
typedef struct DnnlEpilogue {
    Activation activation;
    double alpha, beta;
    float scale;
    bool adds_residual;
} DnnlEpilogue;
MUST_CHECK Error *cpu_dnnl_attributes(const DnnlEpilogue *epilogue, dnnl_primitive_attr_t *out);

/* The primitive's description for one thread; *out NULL if oneDNN has only reference code. */
MUST_CHECK Error *cpu_dnnl_describe(const_dnnl_op_desc_t operation,
    const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *out);
/* A compact row-major descriptor. */
dnnl_memory_desc_t cpu_dnnl_plain(uint32_t rank, const int64_t *dims);
/* How many bands the work is cut into, by its multiply-adds and the length it can be cut along. */
uint32_t cpu_dnnl_band_count(const CpuRules *rules, double multiply_adds, int64_t cuttable);
/* Whether one of so many bands takes so long that one of our own kernels computes it instead, since
 * a band does not check the stop. */
bool cpu_dnnl_is_long(const CpuRules *rules, double multiply_adds, uint32_t band_count);
/* Makes oneDNN use one thread in calls from this thread, from now on. */
void cpu_dnnl_use_one_thread(void);

/* cpu_dnnl_conv.c: packed weights of convolutions. */
MUST_CHECK Error *cpu_dnnl_conv_pack_rule(
    CpuDevice *device, const PackRequest *request, bool *out_packs, uint64_t *out_bytes);
MUST_CHECK Error *cpu_dnnl_conv_pack(
    CpuDevice *device, const PackRequest *request, const void *plain, void *to);
/* The form of packed weights, and those weights in their original form. For shapes that oneDNN
 * declines. */
MUST_CHECK Error *cpu_dnnl_conv_form(
    CpuDevice *device, const Attributes *attributes, const Shape *weights, dnnl_memory_desc_t *out);
void cpu_dnnl_conv_unpack(const dnnl_memory_desc_t *form, const float *packed, float *plain);
