#pragma once
/* The knowledge of shape inference about a value: its shape, and for small values its elements, in
 * a few worlds that give each symbolic dimension another number. Used by compiler/passes/infer.
 * Threads: one at a time per context.
 *
 * The kernels' own shape rules run in every world, so there is no second set of rules. A result
 * that is equal in all worlds is a constant; one that equals a symbol in all worlds is that symbol;
 * any other row of numbers becomes a nameless symbol of its own, so that equal expressions stay
 * equal. A shape or value is tainted if that conclusion may fail for some sizes (a slice that is
 * cut off, a comparison). A tainted one only helps to choose; nothing is folded from it. */
#include "compiler/ir/ir.h"
#include "compiler/passes/probe_groups.h"
#include "kernels/device/device.h"

enum { PROBE_SETS = 3, PROBE_VALUE_COUNT_MAX = 64 };

typedef enum ProbeState {
    PROBE_BOTTOM, /* not reached yet */
    PROBE_KNOWN,
    PROBE_TOP, /* any value; the element type of a tensor may be known */
} ProbeState;

typedef struct Probe {
    ProbeState state;
    IrTypeKind kind;
    bool shape_tainted, value_tainted;
    /* The tainted shape is right for all sizes up to some bound: it is wrong only where a size is
     * larger than a table, which cuts a slice off. */
    bool shape_limited;
    bool guessed; /* the operator's rule refused the inputs in some world; other sizes may do better
                   */
    bool has_value; /* has values (a tensor) or scalars (an int or bool) */
    DType dtype;
    uint32_t rank;
    int64_t dims[PROBE_WORLDS][SHAPE_RANK_MAX];
    Tensor *values[PROBE_WORLDS]; /* retained */
    int64_t scalars[PROBE_WORLDS];
    const IrType *element; /* of a list or optional; NULL: no element seen yet */
} Probe;

typedef struct ProbeContext {
    IrModule *module;
    Device *portable;
    uint32_t variable_count; /* at the beginning of inference */
    Probe *probes;           /* by variable id */
    uint32_t **fresh;        /* by variable id: NULL, or 1 + the symbol made for each dimension */
    uint8_t *widened;        /* by parameter's id: bit i: dimension i became a symbol */
    ProbeSymbol *symbols;
    size_t symbol_count, symbol_capacity;
    uint32_t *table; /* of symbols by sizes: 1 + symbol */
    size_t table_size;
    uint32_t set;
    int64_t next_size[PROBE_WORLDS];
    struct ProbeScratch *scratch; /* infer_operator.c */
    /* While inference iterates, a branch whose other side is not reached yet may look certain. An
     * error of an operator is then postponed, not reported. */
    bool settled, postponed;
} ProbeContext;

/* Prepares a context. set: the choice of sizes, below PROBE_SETS. */
MUST_CHECK Error *probe_context_init(
    IrModule *module, Device *portable, uint32_t set, ProbeContext *out);
void probe_context_deinit(ProbeContext *context);

/* Returns the probe of a variable or constant. The context owns it. */
Probe *probe_of(const ProbeContext *context, const IrVariable *variable);
/* Returns the probe of the operand at index; NULL if the binding has no such operand or leaves it
 * out. */
const Probe *probe_of_operand(
    const ProbeContext *context, const IrBinding *binding, uint32_t index);
void probe_clear(Probe *probe);
/* Replaces *to by a copy of *from. */
void probe_set(Probe *to, const Probe *from);
bool probe_equal(const Probe *a, const Probe *b);
/* Makes a probe for a type; unknown dimensions become symbols of the variable. */
MUST_CHECK Error *probe_from_type(
    ProbeContext *context, const IrVariable *variable, const IrType *type, Probe *out);
/* Makes dimension dim of the variable's probe a symbol of its own. */
MUST_CHECK Error *probe_set_fresh(
    ProbeContext *context, const IrVariable *variable, Probe *inout_probe, uint32_t dim);
/* Joins two probes: keeps the knowledge that holds for both. The probe belongs to the variable.
 * Dimensions that differ become the symbol that groups has for the pair, so that lengths which grow
 * together stay equal. sticky: the probe is a parameter's, joined with one call after the other; a
 * dimension that became a symbol stays one until two dimensions with that symbol differ. */
MUST_CHECK Error *probe_join(ProbeContext *context, ProbeGroups *groups, bool sticky,
    const IrVariable *variable, Probe *inout_probe, const Probe *other);
/* Makes the type that a known probe stands for. */
MUST_CHECK Error *probe_to_type(ProbeContext *context, const Probe *probe, IrType *out);
/* Returns whether a dimension is the same in all worlds. */
bool probe_dim_is_fixed(const Probe *probe, uint32_t dim);
/* Returns whether numbers, one for each world, are those of one symbol, or of the sum of two
 * symbols or of one symbol and a non-negative number. Such a number is never negative. Only sums of
 * the first few thousand symbols are found. */
bool probe_sizes_are_sum(const ProbeContext *context, const int64_t sizes[PROBE_WORLDS]);
/* The same for a dimension. */
bool probe_is_sum(const ProbeContext *context, const Probe *probe, uint32_t dim);
/* Joins the types of elements; either may be NULL (no element). */
MUST_CHECK Error *probe_join_elements(
    IrModule *module, const IrType *a, const IrType *b, const IrType **out);
/* Returns whether the value is present and the same in all worlds. */
bool probe_is_constant(const Probe *probe);
