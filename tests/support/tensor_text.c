#include "tests/support/tensor_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tensor/dtype_bits.h"
#include "tests/support/device_tensor.h"

_Noreturn void tensor_text_refuse(const char *word, const char *what) {
    (void)fprintf(stderr, "\"%s\" %s\n", word, what);
    abort();
}

bool tensor_text_word(const char **at, const char *separators, char out[TENSOR_TEXT_WORD_MAX]) {
    *at += strspn(*at, separators);
    size_t length = strcspn(*at, separators);
    if (length >= TENSOR_TEXT_WORD_MAX) tensor_text_refuse(*at, "is too long a word");
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return length > 0;
}

void tensor_text_type(const char **at, DType tested, DType *out_dtype, Shape *out_shape) {
    static const struct {
        const char *name;
        DType dtype;
    } names[] = {{"b[", DTYPE_BOOL}, {"i64[", DTYPE_INT64}, {"i32[", DTYPE_INT32},
        {"f32[", DTYPE_FLOAT32}, {"f64[", DTYPE_FLOAT64}, {"f16[", DTYPE_FLOAT16},
        {"bf16[", DTYPE_BFLOAT16}, {"u8[", DTYPE_UINT8}, {"i8[", DTYPE_INT8},
        {"u16[", DTYPE_UINT16}, {"i16[", DTYPE_INT16}, {"u4[", DTYPE_UINT4}, {"i4[", DTYPE_INT4},
        {"u2[", DTYPE_UINT2}, {"i2[", DTYPE_INT2}, {"f4[", DTYPE_FLOAT4E2M1},
        {"f6[", DTYPE_FLOAT6E2M3}, {"f8[", DTYPE_FLOAT8E4M3FN}, {"e8m0[", DTYPE_FLOAT8E8M0},
        {"T[", DTYPE_NONE}};
    size_t i = 0;
    while (i < sizeof names / sizeof names[0] &&
           strncmp(*at, names[i].name, strlen(names[i].name)) != 0)
        i++;
    if (i == sizeof names / sizeof names[0]) tensor_text_refuse(*at, "is no array");
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
    for (int64_t i = 0; i < shape_count_unchecked(&tensor->shape); i++) {
        char *end;
        double value = strtod(list, &end);
        if (end == list) tensor_text_refuse(list, "has too few elements");
        if (!dtype_bits_write_element(tensor->dtype, tensor_data(tensor), (uint64_t)i, value))
            return; /* no numbers in this element type */
        list = *end == ',' ? end + 1 : end;
    }
    if (*list) tensor_text_refuse(list, "has too many elements");
}

static Tensor *make_input(const char *word, DType tested, uint64_t seed) {
    DType dtype;
    Shape shape;
    const char *at = word;
    tensor_text_type(&at, tested, &dtype, &shape);
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

uint32_t tensor_text_make(const char *text, DType tested, uint64_t seed, Tensor **out) {
    uint32_t count = 0;
    char word[TENSOR_TEXT_WORD_MAX];
    for (const char *at = text; tensor_text_word(&at, " ", word); count++)
        out[count] = strcmp(word, "-") == 0 ? NULL : make_input(word, tested, seed + count);
    return count;
}
