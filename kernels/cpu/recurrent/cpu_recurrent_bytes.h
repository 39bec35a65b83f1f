#pragma once
/* The two products of a recurrent network whose W and R are bytes, as operators.def defines
 * DynamicQuantizeLSTM. The rows of X, and the states of each step, become bytes of one range; the
 * sums are integers, so that the bits are the same at every level and on any number of threads.
 * Called by cpu_recurrent_run.c when it plans, and on the threads of a launch. Pure: no state. */
#include "kernels/cpu/quantized/cpu_dynamic_quantize.h"
#include "kernels/cpu/quantized/cpu_integer_columns.h"
#include "kernels/cpu/quantized/cpu_lower_bytes.h"
#include "kernels/cpu/quantized/cpu_lower_rows.h"

/* X with W; the states of a step with R. */
typedef enum CpuRecurrentSide { CPU_RECURRENT_INPUTS, CPU_RECURRENT_STATES } CpuRecurrentSide;
enum { CPU_RECURRENT_SIDES = 2 };

typedef struct CpuRecurrentOperand {
    CpuIntegerColumns columns;
    int64_t rows;
    bool in_place; /* the bytes are multiplied where they were quantized to */
    /* in the workspace */
    uint64_t plain_offset, rows_offset, sums_offset, columns_offset;
} CpuRecurrentOperand;

/* Part of a plan's state. */
typedef struct CpuRecurrentBytes {
    CpuLowerForm form;
    CpuLowerProduct *product;
    CpuLowerBytes bytes;
    CpuLowerRows row;
    void (*add)(const float *a, const float *b, int64_t count, float *to);
    CpuDynamicQuantize quantize;
    CpuWiden widen; /* of scales */
    CpuRecurrentOperand operands[CPU_RECURRENT_SIDES];
    uint64_t workspace_bytes;
} CpuRecurrentBytes;

/* Reads a checked request. rows: of X over all steps; of a step's states. Errors: INVALID too
 * large. */
MUST_CHECK Error *cpu_recurrent_bytes_of(Device *device, CpuLevel level, const PlanRequest *request,
    const int64_t rows[CPU_RECURRENT_SIDES], CpuRecurrentBytes *out);

typedef struct CpuRecurrentBytesRun {
    const CpuRecurrentBytes *bytes;
    CpuDevice *device;
    const Launch *launch;
    struct {
        uint8_t *plain; /* [row][depth] */
        char *rows;     /* as they are multiplied */
        uint32_t *sums; /* of a row's bytes less the zero point, if the weights need them */
        CpuIntegerColumnsRun columns;
        float step;
        int32_t zero;
    } sides[CPU_RECURRENT_SIDES];
} CpuRecurrentBytesRun;

/* Packs weights that are not packed. workspace: workspace_bytes of the plan. */
MUST_CHECK Error *cpu_recurrent_bytes_begin(const CpuRecurrentBytes *bytes, CpuDevice *device,
    const Launch *launch, void *workspace, CpuRecurrentBytesRun *out);
/* Quantizes all rows of a side. */
MUST_CHECK Error *cpu_recurrent_bytes_quantize(
    CpuRecurrentBytesRun *run, CpuRecurrentSide side, const float *from);

/* Rows and columns of a side's product. Columns begin at a multiple of CPU_LOWER_COLUMNS. */
typedef struct CpuRecurrentPlace {
    CpuRecurrentSide side;
    int64_t direction;
    int64_t row, rows, column, columns;
    const float *bias; /* of all columns; NULL: none */
    float *out;        /* [rows, columns] of all */
} CpuRecurrentPlace;

/* Computes a part of a product on one thread. Errors: CANCELLED by the stop. */
MUST_CHECK Error *cpu_recurrent_bytes_part(
    const CpuRecurrentBytesRun *run, const CpuRecurrentPlace *place);
/* Computes a side's whole product on the launch's threads. */
MUST_CHECK Error *cpu_recurrent_bytes_multiply(const CpuRecurrentBytesRun *run,
    CpuRecurrentSide side, int64_t direction, const float *bias, float *out);
