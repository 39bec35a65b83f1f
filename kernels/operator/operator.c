#include "kernels/operator/operator.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The rows of the table. The first look-up parses the numbers in their strings and sets the
 * rule. */
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
                            .purity = PURITY_##purity_,                                            \
                            .in_place = in_place_,                                                 \
                            .tolerance = tolerance_,                                               \
                            .expansion = expansion_},                                              \
        .inputs = inputs_,                                                                         \
        .outputs = outputs_,                                                                       \
        .kind = kind_},
#include "kernels/operator/operators.def"
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
        info->infer = operator_rules[i];
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
