#include "tests/conformance/case_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dtype_scalar.h"
#include "tests/support/device_tensor.h"

#define CASE(operator_name, attributes, inputs, outputs, dtypes, reference)                        \
    {#operator_name, attributes, inputs, outputs, dtypes, reference_##reference, __LINE__},
#define BENCH(operator_name, attributes, inputs, outputs, dtypes)                                  \
    {#operator_name, attributes, inputs, outputs, dtypes, NULL, __LINE__},
const ConformanceCase case_table[] = {
#include "tests/conformance/cases.def"
};
#undef BENCH
#undef CASE
const uint32_t case_table_count = sizeof case_table / sizeof case_table[0];

enum { WORD_MAX = 256 };

/* cases.def is wrong. */
static _Noreturn void refuse(const char *word, const char *what) {
    (void)fprintf(stderr, "cases.def: \"%s\" %s\n", word, what);
    abort();
}

static bool next_word(const char **at, const char *separators, char out[WORD_MAX]) {
    *at += strspn(*at, separators);
    size_t length = strcspn(*at, separators);
    if (length >= WORD_MAX) refuse(*at, "is too long a word");
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return length > 0;
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
        {"any", DTYPES_ANY & ~(DTYPE_BIT(DTYPE_FLOAT8E4M3FN) | DTYPE_BIT(DTYPE_FLOAT8E4M3FNUZ) |
                                 DTYPE_BIT(DTYPE_FLOAT8E5M2) | DTYPE_BIT(DTYPE_FLOAT8E5M2FNUZ))},
        {"signed", DTYPES_FLOAT | DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_INT16) |
                       DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64)},
    };
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        if (strcmp(sets[i].name, word) == 0) return sets[i].set;
    DType dtype = dtype_find(word);
    if (dtype == DTYPE_NONE) refuse(word, "is no element type");
    return DTYPE_BIT(dtype);
}

DTypeSet case_table_dtype_set(const char *words) {
    DTypeSet set = 0;
    char word[WORD_MAX];
    while (next_word(&words, ",", word)) set |= set_of(word);
    return set;
}

DTypeSet case_table_dtypes(const ConformanceCase *row) { return case_table_dtype_set(row->dtypes); }

/* "T[2,3]…" → element type and shape; *at then stands behind the ']'. */
static void read_type(const char **at, DType tested, DType *out_dtype, Shape *out_shape) {
    static const struct {
        const char *name;
        DType dtype;
    } names[] = {{"b[", DTYPE_BOOL}, {"i64[", DTYPE_INT64}, {"i32[", DTYPE_INT32},
        {"f32[", DTYPE_FLOAT32}, {"f64[", DTYPE_FLOAT64}, {"f16[", DTYPE_FLOAT16},
        {"bf16[", DTYPE_BFLOAT16}, {"u8[", DTYPE_UINT8}, {"T[", DTYPE_NONE}};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] &&
           strncmp(*at, names[i].name, strlen(names[i].name)) != 0)
        i++;
    if (i == sizeof names / sizeof names[0]) refuse(*at, "is no array");
    *out_dtype = names[i].dtype == DTYPE_NONE ? tested : names[i].dtype;
    *out_shape = (Shape){0};
    const char *dims = *at + strlen(names[i].name);
    while (*dims != ']') {
        char *end = (char *)dims + 1;
        int64_t dim = *dims == '?' ? -1 : strtoll(dims, &end, 10);
        out_shape->dims[out_shape->rank++] = dim;
        dims = *end == ',' ? end + 1 : end;
    }
    *at = dims + 1;
}

static void fill_listed(Tensor *tensor, const char *list) {
    char *data = tensor_data(tensor);
    for (int64_t i = 0; i < shape_count_unchecked(&tensor->shape); i++) {
        char *end;
        double value = strtod(list, &end);
        if (end == list) refuse(list, "has too few elements");
        if (!dtype_scalar_write(tensor->dtype, value, data + i * (dtype_bits(tensor->dtype) / 8)))
            return; /* no numbers in this element type */
        list = *end == ',' ? end + 1 : end;
    }
    if (*list) refuse(list, "has too many elements");
}

static Tensor *make_input(const char *word, DType tested, uint64_t seed) {
    DType dtype;
    Shape shape;
    const char *at = word;
    read_type(&at, tested, &dtype, &shape);
    double low = -3, high = 3;
    if (dtype_is_integer(dtype)) {
        low = dtype_is_signed(dtype) ? -9 : 0;
        high = 9;
    }
    if (*at == ':') {
        char *end;
        low = strtod(at + 1, &end);
        high = strtod(end + 1, NULL);
    }
    Tensor *tensor = device_tensor_random(dtype, &shape, low, high, seed);
    if (*at == '=') fill_listed(tensor, at + 1);
    return tensor;
}

uint32_t case_table_inputs(const ConformanceCase *row, DType dtype, Tensor **out_inputs) {
    uint32_t count = 0;
    char word[WORD_MAX];
    for (const char *at = row->inputs; next_word(&at, " ", word); count++)
        out_inputs[count] = strcmp(word, "-") == 0
                                ? NULL
                                : make_input(word, dtype, (uint64_t)row->line * 1000 + count);
    return count;
}

uint32_t case_table_outputs(
    const ConformanceCase *row, DType dtype, DType *out_dtypes, Shape *out_shapes) {
    uint32_t count = 0;
    char word[WORD_MAX];
    for (const char *at = row->outputs; next_word(&at, " ", word); count++) {
        const char *type = word;
        read_type(&type, dtype, &out_dtypes[count], &out_shapes[count]);
    }
    return count;
}
