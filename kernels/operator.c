#include "kernels/operator.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "kernels/plan.h"
#include "kernels/shape_rules/shape_rules.h"

/* Rows as written; the numbers inside their strings are read once, at the first look-up. */
typedef struct OperatorRow {
    OperatorInfo info;
    const char *inputs;
    const char *outputs;
    const char *kind;
} OperatorRow;

static OperatorRow rows[OPERATOR_COUNT] = {
#define OPERATOR(id_, name_, version_, inputs_, outputs_, attributes_, rule, kind_, purity_,       \
    in_place_, tolerance_, expansion_)                                                             \
    [OPERATOR_##id_] = {.info = {.id = OPERATOR_##id_,                                             \
                            .name = name_,                                                         \
                            .version = version_,                                                   \
                            .attributes = attributes_,                                             \
                            .infer = shape_rule_##rule,                                            \
                            .purity = PURITY_##purity_,                                            \
                            .in_place = in_place_,                                                 \
                            .tolerance = tolerance_,                                               \
                            .expansion = expansion_},                                              \
        .inputs = inputs_,                                                                         \
        .outputs = outputs_,                                                                       \
        .kind = kind_},
#include "kernels/operators.def"
#undef OPERATOR
};

/* "2", "1-3", "1-*" */
static void read_arity(const char *text, uint32_t *out_min, uint32_t *out_max) {
    char *end;
    *out_min = (uint32_t)strtoul(text, &end, 10);
    *out_max = *out_min;
    if (*end == '-') *out_max = end[1] == '*' ? UINT32_MAX : (uint32_t)strtoul(end + 1, &end, 10);
}

static uint64_t read_value_inputs(const char *kind) {
    static const char prefix[] = "values(";
    if (strncmp(kind, prefix, sizeof prefix - 1) != 0) return 0;
    uint64_t bits = 0;
    char *end;
    for (const char *at = kind + sizeof prefix - 1;; at = end + 1) {
        bits |= (uint64_t)1 << strtoul(at, &end, 10);
        if (*end != ',') break;
    }
    return bits;
}

static void read_rows(void) {
    for (uint32_t i = 1; i < OPERATOR_COUNT; i++) {
        OperatorInfo *info = &rows[i].info;
        read_arity(rows[i].inputs, &info->inputs_min, &info->inputs_max);
        read_arity(rows[i].outputs, &info->outputs_min, &info->outputs_max);
        info->value_inputs = read_value_inputs(rows[i].kind);
        info->shape_from_data = strcmp(rows[i].kind, "data") == 0;
    }
}

const OperatorInfo *operator_get(OperatorId id) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_rows);
    assert((int)id > OPERATOR_NONE && id < OPERATOR_COUNT);
    return &rows[id].info;
}

const OperatorInfo *operator_find(const char *name) {
    for (uint32_t i = 1; i < OPERATOR_COUNT; i++)
        if (strcmp(rows[i].info.name, name) == 0) return operator_get((OperatorId)i);
    return NULL;
}

static Error *check_values(const PlanRequest *request, uint32_t index) {
    const OperatorInfo *info = request->operator_info;
    const TensorSpec *input = &request->inputs[index];
    if (!operator_reads_value(info, index)) return NULL;
    int64_t count;
    TRY(shape_count(&input->shape, &count));
    if (count > 0 && (!request->values || !request->values[index]))
        FAIL(INVALID, "the value of input %u is not known", index);
    if (count > 0 && dtype_bits(input->dtype) < 8)
        FAIL(UNSUPPORTED, "input %u: %s cannot be read as values", index, dtype_name(input->dtype));
    return NULL;
}

static Error *check_inputs(const PlanRequest *request) {
    const OperatorInfo *info = request->operator_info;
    if (request->input_count < info->inputs_min || request->input_count > info->inputs_max ||
        request->input_count > PLAN_INPUTS_MAX)
        FAIL(INVALID, "%u inputs", request->input_count);
    if (request->output_count < info->outputs_min || request->output_count > info->outputs_max ||
        request->output_count > PLAN_OUTPUTS_MAX)
        FAIL(INVALID, "%u outputs", request->output_count);
    for (uint32_t i = 0; i < request->input_count; i++) {
        const TensorSpec *input = &request->inputs[i];
        bool needed = i < info->inputs_min || info->inputs_max == UINT32_MAX;
        if (!input->present && needed) FAIL(INVALID, "input %u is missing", i);
        if (!input->present) continue;
        if (!dtype_is_known(input->dtype)) FAIL(INVALID, "input %u has no element type", i);
        int64_t count;
        TRY_WRAP(shape_count(&input->shape, &count), "input %u", i);
        TRY(check_values(request, i));
    }
    return NULL;
}

/* A rule's products stay below 2^62 dimension by dimension; here the whole output is checked. */
static Error *check_outputs(const PlanRequest *request) {
    for (uint32_t i = 0; i < request->output_count; i++) {
        const TensorSpec *output = &request->outputs[i];
        if (!output->present) continue;
        Shape known = output->shape;
        for (uint32_t d = 0; d < known.rank && d < SHAPE_RANK_MAX; d++)
            if (request->operator_info->shape_from_data && known.dims[d] == -1) known.dims[d] = 1;
        uint64_t bytes;
        int64_t count;
        if (output->dtype == DTYPE_STRING)
            TRY_WRAP(shape_count(&known, &count), "output %u", i);
        else
            TRY_WRAP(shape_bytes(&known, output->dtype, &bytes), "output %u", i);
    }
    return NULL;
}

Error *operator_infer(PlanRequest *request) {
    const OperatorInfo *info = request->operator_info;
    TRY_WRAP(check_inputs(request), "%s", info->name);
    memset(request->outputs, 0, request->output_count * sizeof request->outputs[0]);
    TRY_WRAP(info->infer(request), "%s", info->name);
    TRY_WRAP(check_outputs(request), "%s", info->name);
    return NULL;
}
