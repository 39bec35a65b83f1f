#pragma once
/* oneDNN behind plans: primitives made for a plan and executed by many threads at once, plain
 * tensors at its border.
 *
 * oneDNN blocks its work by the number of threads, and the bits follow. So every primitive here is
 * made for one thread, and what is to run in parallel is cut into bands (images, rows of an image,
 * rows of a matrix) by shapes alone; bands are computed alike whoever computes them. */
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

/* One band: which kind of primitive computes it, where its operands begin. */
typedef struct DnnlBand {
    uint32_t kind;
    uint64_t offsets[DNNL_OPERANDS_MAX]; /* bytes */
} DnnlBand;

/* What a kernel gives to make a plan. Descriptions are consumed, also on failure. */
typedef struct DnnlProblem {
    const char *name;
    dnnl_primitive_desc_t kinds[DNNL_KINDS_MAX]; /* single-threaded; NULL where fewer */
    /* The whole operands as the tensors are, and as the primitives want them; ndims 0: no such
     * operand. */
    dnnl_memory_desc_t plain[DNNL_OPERANDS_MAX], wanted[DNNL_OPERANDS_MAX];
    DnnlBand bands[DNNL_BANDS_MAX]; /* of one image */
    uint32_t band_count;
    uint64_t image_count; /* each cut into the bands */
    uint64_t
        image_bytes[DNNL_OPERANDS_MAX]; /* from image to image, in the wanted form; 0: shared */
    bool adds_residual; /* a sum post-op: the result's memory starts as the residual */
} DnnlProblem;

MUST_CHECK Error *cpu_dnnl_plan(
    Device *device, const PlanRequest *request, DnnlProblem *owned_problem, Plan **out);
void cpu_dnnl_problem_deinit(DnnlProblem *problem);

/* Activation, residual, scale of the product (1: none); scratch given by the caller. */
typedef struct DnnlEpilogue {
    Activation activation;
    double alpha, beta;
    float scale;
    bool adds_residual;
} DnnlEpilogue;
MUST_CHECK Error *cpu_dnnl_attributes(const DnnlEpilogue *epilogue, dnnl_primitive_attr_t *out);

/* The primitive's description for one thread; *out NULL where oneDNN has none but reference code.
 */
MUST_CHECK Error *cpu_dnnl_describe(const_dnnl_op_desc_t operation,
    const_dnnl_primitive_attr_t attributes, dnnl_primitive_desc_t *out);
/* A compact row-major descriptor. */
dnnl_memory_desc_t cpu_dnnl_plain(uint32_t rank, const int64_t *dims);
/* How many bands a piece of work is cut into: by its multiply-adds and what it can be cut along. */
uint32_t cpu_dnnl_band_count(const CpuRules *rules, double multiply_adds, int64_t cuttable);
/* Whether one of so many bands takes so long that it is left to a kernel of our own: a band looks
 * at no stop. */
bool cpu_dnnl_is_long(const CpuRules *rules, double multiply_adds, uint32_t band_count);
/* From now on oneDNN uses one thread when it is called from this one. */
void cpu_dnnl_use_one_thread(void);

/* cpu_dnnl_conv.c: packed weights of convolutions. */
MUST_CHECK Error *cpu_dnnl_conv_pack_rule(
    CpuDevice *device, const PackRequest *request, bool *out_packs, uint64_t *out_bytes);
MUST_CHECK Error *cpu_dnnl_conv_pack(
    CpuDevice *device, const PackRequest *request, const void *plain, void *to);
/* The form of packed weights, and those weights as they were. For shapes that oneDNN declines. */
MUST_CHECK Error *cpu_dnnl_conv_form(
    CpuDevice *device, const Attributes *attributes, const Shape *weights, dnnl_memory_desc_t *out);
void cpu_dnnl_conv_unpack(const dnnl_memory_desc_t *form, const float *packed, float *plain);
