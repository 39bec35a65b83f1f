#pragma once
/* The operators, derived from operators.def: names, arity, attributes, shape rule, purity, in-place
 * pairs. Used by the compiler, the VM and all devices. Pure: constant tables. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct PlanRequest;
struct Attributes;

typedef enum OperatorId {
    OPERATOR_NONE = 0,
#define OPERATOR(id, name, version, inputs, outputs, attributes, rule, kind, purity, in_place,     \
    tolerance, expansion)                                                                          \
    OPERATOR_##id,
#include "kernels/operator/operators.def"
#undef OPERATOR
    OPERATOR_COUNT
} OperatorId;

typedef enum OperatorPurity {
    PURITY_PURE,   /* same inputs, same outputs: may be folded, merged, dropped */
    PURITY_RANDOM, /* draws from the execution's Philox counter: neither folded nor merged */
} OperatorPurity;

typedef struct OperatorInfo {
    OperatorId id;
    const char *name; /* ONNX's, or "Fused…" */
    uint32_t version; /* ONNX's since_version of the semantics implemented (1 for fused ones); never
                         changes meaning */
    uint32_t inputs_min, inputs_max; /* inputs_max UINT32_MAX: variadic */
    uint32_t outputs_min, outputs_max;
    const char *attributes; /* declaration string, see attributes.h */
    /* Fills request->outputs (shape and dtype) from inputs, attributes and values. Errors: INVALID
     * naming the fault. */
    Error *(*infer)(struct PlanRequest *request);
    /* Bit i: the rule reads the VALUE of input i, which must then be in slot 0 and is part of the
     * plan's key. */
    uint64_t value_inputs;
    bool shape_from_data; /* shape kind `data` */
    OperatorPurity purity;
    const char *in_place; /* pairs "out<in", e.g. "0<0 0<1"; "view": output 0 is input 0 reshaped;
                             "" none */
    /* Relative, between determinism classes; 0: exact. float16 and bfloat16 are computed in float32
     * and rounded once, at the end, to 2^-11 and 2^-8: a fused operator's result and that of its
     * expansion, which rounds after each step, are apart by as many roundings. */
    double tolerance;
    const char *expansion; /* the plain operators that operator_expansion.h builds for it, for
                            * people (operators.md); "" for none */
} OperatorInfo;

/* Whether the operator is Layover's own: made by the compiler, never named by models. */
static inline bool operator_is_own(const OperatorInfo *info) {
    return info->version == 1 && info->expansion[0];
}

/* Whether the rule reads that input's value. */
static inline bool operator_reads_value(const OperatorInfo *info, uint32_t index) {
    return index < 64 && (info->value_inputs >> index & 1);
}

/* NULL when unknown. */
const OperatorInfo *operator_find(const char *name);
const OperatorInfo *operator_get(OperatorId id);
/* OperatorInfo.infer of each operator. operator_infer.c defines the table, because it names the
 * shape rules, which stand above the operators. */
extern Error *(*const operator_rules[OPERATOR_COUNT])(struct PlanRequest *request);
