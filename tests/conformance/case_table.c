#include "tests/conformance/case_table.h"

#include <math.h>
#include <string.h>

#include "base/digest.h"
#include "tests/support/tensor_text.h"

/* The functions of FORMULA rows, each named by its operator and line. */
#define FORMULA_PASTE(operator_name, line) formula_##operator_name##_##line
#define FORMULA_NAME(operator_name, line) FORMULA_PASTE(operator_name, line)
#define FORMULA(operator_name, attributes_, inputs_, outputs_, dtypes, formula)                    \
    static void FORMULA_NAME(operator_name, __LINE__)(ReferenceCall * call) {                      \
        const double alpha = reference_parameter(call, 0), beta = reference_parameter(call, 1);    \
        (void)alpha, (void)beta;                                                                   \
        for (int64_t i = 0; i < call->outputs[0].count; i++) {                                     \
            const double x = call->inputs[0].values[i];                                            \
            call->outputs[0].values[i] = formula;                                                  \
        }                                                                                          \
    }
#include "tests/conformance/cases/cases.def"

#define FORMULA(operator_name, attributes, inputs, outputs, dtypes, formula)                       \
    {#operator_name, attributes, inputs, outputs, dtypes, FORMULA_NAME(operator_name, __LINE__),   \
        __FILE__, __LINE__},
#define CASE(operator_name, attributes, inputs, outputs, dtypes, reference)                        \
    {#operator_name, attributes, inputs, outputs, dtypes, reference_##reference, __FILE__,         \
        __LINE__},
#define BENCH(operator_name, attributes, inputs, outputs, dtypes)                                  \
    {#operator_name, attributes, inputs, outputs, dtypes, NULL, __FILE__, __LINE__},
const ConformanceCase case_table[] = {
#include "tests/conformance/cases/cases.def"
};
const uint32_t case_table_count = sizeof case_table / sizeof case_table[0];

const char *case_table_file(const ConformanceCase *row) {
    const char *slash = strrchr(row->file, '/');
    return slash ? slash + 1 : row->file;
}

uint64_t case_table_seed(const ConformanceCase *row) {
    const char *const texts[] = {row->operator_name, row->attributes, row->inputs};
    uint64_t hashes[3];
    for (uint32_t i = 0; i < 3; i++) hashes[i] = digest_xxh3(texts[i], strlen(texts[i]));
    return digest_xxh3(hashes, sizeof hashes);
}

static DTypeSet set_of(const char *word) {
    static const struct {
        const char *name;
        DTypeSet set;
    } sets[] = {
        {"none", DTYPE_BIT(DTYPE_NONE)},
        {"float", DTYPES_FLOAT},
        {"number", DTYPES_NUMBER},
        {"integer", DTYPES_INTEGER},
        {"any", DTYPES_POINTWISE},
        {"float8", DTYPES_FLOAT8},
        {"packed", DTYPES_PACKED},
        {"signed", DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) |
                       DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(sets[i].name, word) == 0) return sets[i].set;
    DType dtype = dtype_find(word);
    if (dtype == DTYPE_NONE) tensor_text_refuse(word, "is no element type");
    return DTYPE_BIT(dtype);
}

DTypeSet case_table_dtype_set(const char *words) {
    DTypeSet set = 0;
    char word[TENSOR_TEXT_WORD_MAX];
    while (tensor_text_word(&words, ",", word)) set |= set_of(word);
    return set;
}

DTypeSet case_table_dtypes(const ConformanceCase *row) { return case_table_dtype_set(row->dtypes); }

uint32_t case_table_inputs(const ConformanceCase *row, DType dtype, Tensor **out_inputs) {
    return tensor_text_make(row->inputs, dtype, case_table_seed(row), out_inputs);
}

uint32_t case_table_outputs(
    const ConformanceCase *row, DType dtype, DType *out_dtypes, Shape *out_shapes) {
    uint32_t count = 0;
    char word[TENSOR_TEXT_WORD_MAX];
    for (const char *at = row->outputs; tensor_text_word(&at, " ", word); count++) {
        const char *type = word;
        tensor_text_type(&type, dtype, &out_dtypes[count], &out_shapes[count]);
    }
    return count;
}
