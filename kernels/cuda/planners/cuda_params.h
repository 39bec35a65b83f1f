#pragma once
/* The parameters of the CUDA kernels: plain structures, filled by the planners and passed to a
 * kernel by value. Element types are DType numbers; addresses are the device's; strides and offsets
 * count elements unless they are named bytes. Pure: plain data.
 *
 * Compiled by the C compiler and by nvcc. */
#include <stdint.h>

#include "kernels/tensor/shape_rank.h"

enum {
    CUDA_THREADS = 256,          /* of every block */
    CUDA_PARAMS_BYTES_MAX = 4096 /* upper bound of a launch */
};

/* ---- pointwise ---- */

enum {
    CUDA_POINTWISE_INPUTS_MAX = 16,
    CUDA_POINTWISE_STEPS_MAX = 64,
    CUDA_POINTWISE_SLOTS_MAX = 16,
    CUDA_POINTWISE_CONSTANTS_MAX = 64,
    CUDA_POINTWISE_PARAMETERS_MAX = 34, /* alpha and beta of 16 steps; the first two are 0 */
    CUDA_POINTWISE_LANES = 4,           /* neighbouring elements that a thread computes together */
};

/* The operation of a step: the loops of the cpu, and conversion between two element types. */
typedef enum CudaPointwiseOp {
#define CPU_LOOP(name, operands) CUDA_POINTWISE_##name,
#include "kernels/cpu/loops/cpu_loops.def"
#undef CPU_LOOP
    CUDA_POINTWISE_CAST
} CudaPointwiseOp;

typedef enum CudaPointwiseKind {
    CUDA_POINTWISE_INPUT,
    CUDA_POINTWISE_SLOT,
    CUDA_POINTWISE_CONSTANT
} CudaPointwiseKind;

/* The type that a step's operands are read as. */
typedef enum CudaPointwiseFamily {
    CUDA_POINTWISE_BITS, /* moves and logic */
    CUDA_POINTWISE_CASTS,
    CUDA_POINTWISE_F32, /* float32, float16, bfloat16 */
    CUDA_POINTWISE_F64,
    CUDA_POINTWISE_INT64, /* signed integers */
    CUDA_POINTWISE_UINT64 /* unsigned ones, and bool */
} CudaPointwiseFamily;

typedef struct CudaPointwiseStep {
    uint8_t op;     /* CudaPointwiseOp */
    uint8_t family; /* CudaPointwiseFamily: follows from op and dtype */
    uint8_t dtype;  /* of the operands; Where: of the last two; Pow: of the base */
    uint8_t result; /* element type */
    uint8_t slot;   /* of the result; the last step's goes to the output */
    uint8_t operand_count;
    uint8_t saturate; /* casts to float8 */
    uint8_t kinds[3], indices[3];
    uint8_t parameters; /* index of alpha among `parameters`; beta follows */
} CudaPointwiseStep;

/* The element of an input that belongs to element i of the output. */
typedef enum CudaPointwiseLayout {
    CUDA_POINTWISE_STRIDED,    /* the one at i's coordinates times the strides */
    CUDA_POINTWISE_CONTIGUOUS, /* element i */
    CUDA_POINTWISE_REPEATED    /* the only one */
} CudaPointwiseLayout;

typedef struct CudaPointwiseInput {
    uint64_t address;
    uint8_t size;   /* of an element */
    uint8_t layout; /* CudaPointwiseLayout */
    int64_t strides[SHAPE_RANK_MAX];
} CudaPointwiseInput;

/* The operands of a program, and its numbers. */
typedef struct CudaPointwiseOperands {
    uint64_t out;
    uint64_t count; /* elements of the output */
    uint32_t rank;
    uint32_t out_size;   /* of an element */
    uint32_t rows_whole; /* the innermost dimension is a multiple of the lanes */
    uint32_t input_count;
    int64_t dims[SHAPE_RANK_MAX];
    CudaPointwiseInput inputs[CUDA_POINTWISE_INPUTS_MAX];
    uint64_t constants[CUDA_POINTWISE_CONSTANTS_MAX]; /* each in its element type's bytes */
    double parameters[CUDA_POINTWISE_PARAMETERS_MAX];
} CudaPointwiseOperands;

typedef struct CudaPointwiseParams {
    CudaPointwiseOperands operands;
    uint32_t step_count;
    CudaPointwiseStep steps[CUDA_POINTWISE_STEPS_MAX];
} CudaPointwiseParams;

/* ---- copies ---- */

enum { CUDA_COPY_RANK_MAX = 2 * SHAPE_RANK_MAX, CUDA_COPY_TILE = 32 };

/* Element (i, j, …) of `from` becomes that of `to`; a stride of `from` may be 0 or negative. */
typedef struct CudaCopyParams {
    uint64_t from, to;
    uint64_t count; /* product of dims */
    uint32_t size;  /* of an element: 1, 2, 4, 8 or 16 bytes */
    uint32_t rank;  /* 1 at least */
    int64_t dims[CUDA_COPY_RANK_MAX];
    int64_t from_strides[CUDA_COPY_RANK_MAX], to_strides[CUDA_COPY_RANK_MAX];
} CudaCopyParams;

/* Copies where neighbours in `from` (columns) are not neighbours in `to` (rows) and the reverse:
 * square tiles that are transposed in shared memory. */
typedef struct CudaTransposeParams {
    uint64_t from, to;
    uint64_t batches; /* product of dims */
    int64_t rows, columns;
    int64_t from_row, to_column; /* strides; the other two are 1 */
    uint32_t size;               /* at most 8 */
    uint32_t rank;               /* of the batches; 1 at least */
    int64_t dims[CUDA_COPY_RANK_MAX];
    int64_t from_strides[CUDA_COPY_RANK_MAX], to_strides[CUDA_COPY_RANK_MAX];
} CudaTransposeParams;

typedef struct CudaFillParams {
    uint64_t to;
    uint64_t count;
    uint64_t value; /* the element's bytes, zeros above them */
    uint32_t size;
} CudaFillParams;

/* Numbers that are known when the plan is made. */
typedef struct CudaNumbersParams {
    uint64_t to; /* of int64 */
    uint32_t count;
    int64_t numbers[SHAPE_RANK_MAX];
} CudaNumbersParams;

/* Keeps of each row r the columns from r + k on (upper) or up to r + k; zeros elsewhere. */
typedef struct CudaTriluParams {
    uint64_t from, to;
    uint64_t count;
    int64_t height, width, k;
    uint32_t size, upper;
} CudaTriluParams;

typedef enum CudaPadMode {
    CUDA_PAD_CONSTANT,
    CUDA_PAD_REFLECT,
    CUDA_PAD_EDGE,
    CUDA_PAD_WRAP
} CudaPadMode;

typedef struct CudaPadParams {
    uint64_t from;             /* 0: the output holds only the value */
    uint64_t to, value;        /* value: the address of one element; 0: zero */
    uint64_t count;            /* elements of the output */
    uint32_t size, rank, mode; /* CudaPadMode */
    int64_t in_dims[SHAPE_RANK_MAX], out_dims[SHAPE_RANK_MAX], begin[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX]; /* of the input */
} CudaPadParams;

/* Element i is start + i * step, in float64 or in wrapping integers. */
typedef struct CudaRangeParams {
    uint64_t to;
    uint64_t count;
    double start, step;
    int64_t start_int, step_int;
    uint32_t dtype;
} CudaRangeParams;

/* indices [outer, inner] to [outer, depth, inner]. */
typedef struct CudaOneHotParams {
    uint64_t indices, values, to; /* values: off, on */
    uint64_t count;               /* elements of the output */
    int64_t depth, inner;
    uint32_t dtype; /* of the indices */
    uint32_t size;
} CudaOneHotParams;

/* ---- indices from data ---- */

/* Out-of-range indices are skipped, and the smallest of their positions is written to `fault`. */
typedef struct CudaIndices {
    uint64_t address;
    uint64_t fault; /* address of a uint64, all ones before */
    uint32_t wide;  /* int64; 0: int32 */
} CudaIndices;

/* Tuples of `depth` indices, each naming a slice of `slice` units of the data of its batch. Gather
 * has tuples of one index, which are the same for every batch. */
typedef struct CudaGatherParams {
    CudaIndices indices;
    uint64_t from, to;
    uint64_t batches, tuples;     /* tuples: of one batch */
    uint64_t slice, batch_stride; /* in units */
    uint32_t size;                /* of a unit: 1, 2, 4, 8 or 16 bytes */
    uint32_t depth, same_indices;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX]; /* in units */
} CudaGatherParams;

/* out[.., i, ..] = data[.., indices[.., i, ..], ..] along an axis. */
typedef struct CudaGatherElementsParams {
    CudaIndices indices;
    uint64_t from, to;
    uint64_t count;
    uint32_t size, rank;
    int64_t dim, axis_stride;
    int64_t dims[SHAPE_RANK_MAX];    /* of the indices */
    int64_t strides[SHAPE_RANK_MAX]; /* of the data; 0 along the axis */
} CudaGatherElementsParams;

typedef enum CudaCombine {
    CUDA_COMBINE_SET,
    CUDA_COMBINE_ADD,
    CUDA_COMBINE_MUL,
    CUDA_COMBINE_MAX,
    CUDA_COMBINE_MIN
} CudaCombine;

/* Updates can only collide within one lane of the axis: a thread takes a lane, in the order of the
 * indices. */
typedef struct CudaScatterElementsParams {
    CudaIndices indices;
    uint64_t updates, to;
    uint64_t lanes; /* of the indices */
    uint32_t dtype, size, combine, rank;
    int64_t dim, axis_stride;          /* of the data */
    int64_t length, lane_stride;       /* of the indices along the axis */
    int64_t dims[SHAPE_RANK_MAX];      /* of the lanes: the indices' without the axis */
    int64_t strides[SHAPE_RANK_MAX];   /* of the data */
    int64_t positions[SHAPE_RANK_MAX]; /* strides of the indices */
} CudaScatterElementsParams;

/* Any tuples may collide: a thread takes one element of the slices, in the order of the tuples. */
typedef struct CudaScatterTuplesParams {
    CudaIndices indices;
    uint64_t updates, to;
    uint64_t tuples, slice;
    uint32_t dtype, size, combine, depth;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[SHAPE_RANK_MAX];
} CudaScatterTuplesParams;

/* ---- reductions ---- */

typedef enum CudaFinish { CUDA_FINISH_NONE, CUDA_FINISH_MEAN, CUDA_FINISH_ROOT } CudaFinish;

/* Output o reduces `total` elements: the groups of kernels/tensor/reduce_groups.h say where element
 * j of output (outer, column) is. Sums are kept in 64 bits: float64 for floats. A long reduction is
 * cut into segments that depend on the shape alone; their partial results are at `partial` as
 * [segments][outputs] until a second kernel combines them in order. */
typedef struct CudaReduceParams {
    uint64_t from, to, partial;
    uint64_t outputs, total, segment, segments;
    int64_t width, length, stride, repeats, outer;
    uint32_t columns, kept_rank, reduced_rank;
    uint32_t dtype, combine, finish; /* CudaCombine, CudaFinish */
    uint32_t squares;                /* of the elements */
    uint64_t identity;               /* bits of the 64-bit type */
    int64_t kept_dims[SHAPE_RANK_MAX], kept_strides[SHAPE_RANK_MAX];
    int64_t reduced_dims[SHAPE_RANK_MAX], reduced_strides[SHAPE_RANK_MAX];
} CudaReduceParams;

/* Lanes of [outer, dim, inner]. */
typedef struct CudaLanesParams {
    uint64_t from, to, indices; /* indices: of TopK */
    int64_t outer, dim, inner, k;
    uint32_t dtype;
    uint32_t smallest;           /* the least element is wanted */
    uint32_t last;               /* of equal ones the last */
    uint32_t exclusive, reverse; /* CumSum */
} CudaLanesParams;

/* ---- rows ---- */

/* Rows of `size` elements that lie `inner` apart. */
typedef struct CudaSoftmaxParams {
    uint64_t from, to;
    int64_t outer, size, inner;
    uint32_t dtype, logarithm;
} CudaSoftmaxParams;

/* An operand read along with the rows: element i of row r is (r % row_wrap) * row_step + i * step,
 * or, if it broadcasts in no such way, found by strides. Address 0: absent. */
typedef struct CudaAlong {
    uint64_t address;
    uint32_t dtype, strided;
    int64_t step, row_step, row_wrap;
    int64_t strides[SHAPE_RANK_MAX];
} CudaAlong;

typedef struct CudaNormalizeParams {
    uint64_t from, to, mean, deviation; /* the last two: results, 0 where not wanted */
    int64_t rows, size;
    double epsilon;
    uint32_t dtype, statistics_dtype;
    uint32_t centered;
    uint32_t rank; /* of x, for strided operands */
    int64_t dims[SHAPE_RANK_MAX];
    CudaAlong scale, bias;
} CudaNormalizeParams;

/* x [batch, channels, pixels] */
typedef struct CudaBatchNormalizeParams {
    uint64_t from, to, scale, bias, mean, variance;
    uint64_t count;
    int64_t channels, pixels;
    double epsilon;
    uint32_t dtype, scale_dtype, statistics_dtype;
} CudaBatchNormalizeParams;

typedef struct CudaLrnParams {
    uint64_t from, to;
    uint64_t count;
    int64_t channels, pixels, before, after;
    float factor, bias, beta;
    uint32_t dtype;
} CudaLrnParams;

/* ---- products ---- */

/* y = activation(alpha * sum + bias_scale * bias + residual) */
typedef struct CudaEpilogue {
    uint64_t bias, residual; /* 0: absent */
    double alpha, bias_scale;
    double activation_alpha, activation_beta;
    uint32_t activation; /* Activation */
} CudaEpilogue;

/* `to` becomes the epilogue of itself, in place. */
typedef struct CudaEpilogueParams {
    uint64_t to; /* [images, channels, pixels] */
    uint64_t count;
    int64_t channels, pixels;
    uint32_t dtype;
    CudaEpilogue epilogue; /* bias: one element a channel */
} CudaEpilogueParams;

enum {
    CUDA_MATMUL_TILE = 64,
    CUDA_MATMUL_DEPTH = 16,
    /* columns of a block where rows are few: B is read along its rows, or along its columns */
    CUDA_MATVEC_WIDTH = 32,
    CUDA_MATVEC_WIDTH_TURNED = 8,
};

/* C [batches, rows, columns] = A B; all of one element type. */
typedef struct CudaMatmulParams {
    uint64_t a, b, c;
    int64_t rows, columns, depth;
    int64_t a_row, a_column, b_row, b_column, bias_row, bias_column;
    uint64_t batches;
    uint32_t batch_rank; /* 1 at least */
    uint32_t dtype;
    int64_t batch_dims[SHAPE_RANK_MAX];
    int64_t a_batch[SHAPE_RANK_MAX], b_batch[SHAPE_RANK_MAX], bias_batch[SHAPE_RANK_MAX];
    CudaEpilogue epilogue;
} CudaMatmulParams;

enum { CUDA_WINDOW_RANK_MAX = SHAPE_RANK_MAX - 2 };

typedef struct CudaWindow {
    uint32_t rank;
    int64_t kernel[CUDA_WINDOW_RANK_MAX], stride[CUDA_WINDOW_RANK_MAX];
    int64_t dilation[CUDA_WINDOW_RANK_MAX];
    int64_t pad_begin[CUDA_WINDOW_RANK_MAX], pad_end[CUDA_WINDOW_RANK_MAX];
    int64_t input[CUDA_WINDOW_RANK_MAX], output[CUDA_WINDOW_RANK_MAX];
} CudaWindow;

/* x [images, groups * channels, input], w [groups * filters, channels, kernel]; transposed:
 * w [groups * channels, filters, kernel]. */
typedef struct CudaConvParams {
    uint64_t x, w, y;
    uint64_t count; /* elements of the output */
    int64_t groups, channels, filters;
    int64_t input_count, output_count, kernel_count; /* of a plane */
    uint32_t dtype;
    CudaWindow window;
    CudaEpilogue epilogue; /* bias: one element a filter */
} CudaConvParams;

typedef struct CudaPoolParams {
    uint64_t x, y, indices; /* indices: 0 where not wanted */
    uint64_t count;
    int64_t input_count, output_count, kernel_count;
    int64_t index_step[CUDA_WINDOW_RANK_MAX];
    uint32_t dtype, average, include_padding;
    CudaWindow window;
} CudaPoolParams;

/* ---- random numbers ---- */

typedef struct CudaRandomParams {
    uint64_t to;
    uint64_t count, key, counter;
    double offset, scale;
    uint32_t dtype, normal;
} CudaRandomParams;

/* ---- LSTM ---- */

typedef struct CudaLstmActivation {
    uint32_t op; /* CudaPointwiseOp */
    float alpha, beta;
} CudaLstmActivation;

/* One step of one direction: float32, one thread for each element of the batch and of the hidden
 * state. Gates in ONNX's order: input, output, forget, cell. Address 0: absent. */
typedef struct CudaLstmParams {
    uint64_t gates;     /* [rows, 4 hidden]: X W' */
    uint64_t recurrent; /* [batch, 4 hidden]: H R' */
    uint64_t bias;      /* [8 hidden] */
    uint64_t peepholes; /* [3 hidden] */
    uint64_t lengths;   /* [batch] of int32 */
    uint64_t h, c;      /* [batch, hidden] */
    uint64_t y;         /* at the direction's first row */
    int64_t batch, hidden, length, step;
    int64_t gates_time, gates_batch, y_time, y_batch; /* rows */
    uint32_t reverse, input_forget, clips;
    float clip;
    CudaLstmActivation activations[3]; /* gates, cell, output */
} CudaLstmParams;
