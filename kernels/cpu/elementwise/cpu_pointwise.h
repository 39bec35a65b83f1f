#pragma once
/* Elementwise work of any shape: a short program of loops, run over blocks that fit the first-level
 * cache. A plain operator is a program of one step (a few for Mean, mixed Pow, some casts);
 * FusedElementwise has many steps. Made by cpu_elementwise.c, cpu_cast.c and cpu_pointwise_lower.c
 * when they plan, run on the threads of a launch.
 *
 * Every element is computed alone, so blocks, threads, broadcasting and fusion never change
 * bits. */
#include "kernels/operator/attributes.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/loops/cpu_loops.h"

enum {
    CPU_POINTWISE_STEPS_MAX = 512,
    CPU_POINTWISE_CONSTANTS_MAX = 512,
};

typedef enum CpuSourceKind {
    CPU_SOURCE_ABSENT,
    CPU_SOURCE_INPUT,
    CPU_SOURCE_STEP,
    CPU_SOURCE_CONSTANT,
} CpuSourceKind;

typedef struct CpuSource {
    CpuSourceKind kind;
    uint32_t index;
    DType dtype;
} CpuSource;

typedef struct CpuPointwiseStep {
    CpuLoop *loop;
    CpuLoopId id; /* the loop's id; CPU_LOOP_COUNT: a cast to `dtype` */
    DType by;     /* element type of its operands, as in cpu_loop_find */
    bool saturate;
    uint32_t operand_count;
    CpuSource operands[CPU_LOOP_OPERANDS_MAX];
    DType dtype; /* of the result */
    CpuParameters parameters;
} CpuPointwiseStep;

/* A program while it is built. */
typedef struct CpuPointwise {
    CpuLevel level;
    bool missing; /* an operator or element type has no loop: the kernel declines */
    uint32_t step_count;
    uint32_t constant_count;
    CpuPointwiseStep steps[CPU_POINTWISE_STEPS_MAX];
    uint64_t constants[CPU_POINTWISE_CONSTANTS_MAX]; /* each in its element type's bytes */
} CpuPointwise;

MUST_CHECK Error *cpu_pointwise_create(CpuLevel level, CpuPointwise **out);
void cpu_pointwise_release(CpuPointwise *program);
DEFINE_OWN(CpuPointwise, cpu_pointwise_release);

/* Whether cpu_pointwise_add_operator knows the operator. */
bool cpu_pointwise_knows(OperatorId operator_id);
/* Adds a constant: value rounded to the element type (saturated, for integers). */
CpuSource cpu_pointwise_add_constant(CpuPointwise *program, DType dtype, double value);
/* Adds the steps of one operator; returns the place of its result. An operator that cannot be done
 * sets program->missing. */
CpuSource cpu_pointwise_add_operator(CpuPointwise *program, OperatorId operator_id,
    const Attributes *attributes, const CpuSource *operands, uint32_t operand_count, DType result);
/* Joins the steps that dequantize or quantize bytes; the bits stay the same
 * (cpu_pointwise_bytes.c). */
void cpu_pointwise_join_bytes(CpuPointwise *program);
/* Puts a table in the place of steps that make bytes of one input of bytes; the bits stay the same
 * (cpu_pointwise_table.c). */
MUST_CHECK Error *cpu_pointwise_join_tables(const Device *device, CpuPointwise *program);
/* Finds the steps that the last one needs, and for each of them the slot of its result: the lowest
 * one that no operand of a later step occupies. Both arrays have CPU_POINTWISE_STEPS_MAX entries.
 * Returns the number of slots. */
uint32_t cpu_pointwise_place(const CpuPointwise *program, bool *out_needed, uint32_t *out_slots);
/* A plan that runs the program's last step into output 0. Declines when program->missing. */
MUST_CHECK Error *cpu_pointwise_plan(Device *device, const PlanRequest *request,
    const char *kernel_name, const CpuPointwise *program, Plan **out);
/* Whether the program maps one tensor of bytes to bytes; a plan that looks its elements up in a
 * table (cpu_pointwise_table.c). */
bool cpu_pointwise_has_table(const PlanRequest *request, const CpuPointwise *program);
MUST_CHECK Error *cpu_pointwise_plan_table(Device *device, const PlanRequest *request,
    const char *kernel_name, const CpuPointwise *program, Plan **out);
