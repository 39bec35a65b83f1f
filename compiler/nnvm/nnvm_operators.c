#include "compiler/nnvm/nnvm_operators.h"

#include <string.h>

#include "compiler/nnvm/nnvm_build_internal.h"

static const NnvmOperator rows[] = {
#define NNVM_OPERATOR(name, inputs, attributes, builder, target)                                   \
    {name, inputs, attributes, nnvm_build_##builder, target},
#include "compiler/nnvm/nnvm_operator_rows.def"
#undef NNVM_OPERATOR
};

Error *nnvm_operator_find(const char *name, const NnvmOperator **out) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0) {
            *out = &rows[i];
            return NULL;
        }
    FAIL(UNSUPPORTED, "the operator %.100s is not known; docs/tvm.md lists those that are", name);
}

char nnvm_operator_input(const NnvmOperator *row, uint32_t index) {
    char last = 0;
    for (const char *letter = row->inputs; *letter; letter++) {
        if (*letter == '?') continue;
        if (*letter == '*') return last;
        last = *letter;
        if (index-- == 0) return last;
    }
    return 0;
}

static uint32_t least_inputs(const NnvmOperator *row) {
    const char *optional = strchr(row->inputs, '?');
    if (optional) return (uint32_t)(optional - row->inputs);
    return (uint32_t)strcspn(row->inputs, "*");
}

static bool is_listed(const char *list, const char *name) {
    const size_t length = strlen(name);
    while (*list) {
        const size_t word = strcspn(list, " ");
        if (word == length && memcmp(list, name, length) == 0) return true;
        list += word + (list[word] == ' ');
    }
    return false;
}

/* What MXNet writes beside any operator: hints for training and for other libraries. */
static const char everywhere[] = "ctx_group lr_mult wd_mult force_mirroring mirror_stage name "
                                 "num_args cudnn_off cudnn_tune workspace weight_lr_mult "
                                 "weight_wd_mult bias_lr_mult bias_wd_mult";

Error *nnvm_operator_check(const NnvmOperator *row, const NnvmNode *node) {
    const uint32_t least = least_inputs(row);
    if (node->input_count < least)
        FAIL(INVALID, "%u inputs; %u are wanted", node->input_count, least);
    if (node->input_count > 0 && !nnvm_operator_input(row, node->input_count - 1))
        FAIL(INVALID, "%u inputs are too many", node->input_count);
    for (uint32_t i = 0; i < 3; i++) {
        if (!node->attributes[i]) continue;
        json_object_object_foreach(node->attributes[i], key, value) {
            (void)value;
            if (strncmp(key, "__", 2) != 0 && !is_listed(everywhere, key) &&
                !is_listed(row->attributes, key))
                FAIL(UNSUPPORTED, "the attribute %.100s is not known", key);
        }
    }
    return NULL;
}
