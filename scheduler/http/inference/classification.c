#include "scheduler/http/inference/classification.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/dtype_scalar.h"

enum {
    CLASSES_MAX = 65536,
    TEXT_SIZE = 384
}; /* the longest number that %f prints has 317 characters */

typedef struct Score {
    double value;
    uint64_t index;
} Score;

static int compare(const void *first, const void *second) {
    const Score *a = first, *b = second;
    if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? 1 : -1;
    if (a->value != b->value && !isnan(a->value)) return a->value > b->value ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Prints the classes of all rows. texts, buffer: room for rows × count of them. */
static void print_rows(const NamedArray *array, uint64_t rows, uint64_t width, uint64_t count,
    Score *row, char *buffer, const char **texts) {
    const uint32_t bytes = dtype_bits(array->dtype) / 8;
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t i = 0; i < width; i++) {
            row[i].index = i;
            (void)dtype_scalar_read(
                array->dtype, array->data + (r * width + i) * bytes, &row[i].value);
        }
        qsort(row, width, sizeof *row, compare);
        for (uint64_t i = 0; i < count; i++) {
            char *text = buffer + (r * count + i) * TEXT_SIZE;
            (void)snprintf(text, TEXT_SIZE, "%f:%" PRIu64, row[i].value, row[i].index);
            texts[r * count + i] = text;
        }
    }
}

Error *classification_make(const NamedArray *array, uint64_t count, NamedArray *out_array) {
    const bool one_row = array->shape.rank < 2;
    const DTypeSet taken = (DTYPES_INTEGER | DTYPE_BIT(DTYPE_FLOAT32) | DTYPE_BIT(DTYPE_FLOAT64));
    const uint64_t rows = one_row ? 1 : (uint64_t)array->shape.dims[0];
    const uint64_t all = (uint64_t)shape_count_unchecked(&array->shape);
    const uint64_t width = rows ? all / rows : 0;
    void *row, *buffer, *texts = NULL;
    if (!dtype_in(taken, array->dtype))
        FAIL(UNSUPPORTED, "output %s: classes of elements of %s", array->name,
            dtype_name(array->dtype));
    if (count > width) count = width;
    if (rows * count > CLASSES_MAX)
        FAIL(INVALID, "output %s: %" PRIu64 " classes; at most %d are answered", array->name,
            rows * count, CLASSES_MAX);
    Shape shape = {.rank = one_row ? 1 : 2, .dims = {(int64_t)(one_row ? count : rows)}};
    if (!one_row) shape.dims[1] = (int64_t)count;
    TRY(memory_alloc(width, sizeof(Score), &row));
    Error *error = memory_alloc(rows * count, TEXT_SIZE, &buffer);
    if (!error) {
        error = memory_alloc(rows * count, sizeof(char *), &texts);
        if (!error) {
            print_rows(array, rows, width, count, row, buffer, texts);
            error = named_array_init_texts(out_array, array->name, &shape, texts);
            memory_free(texts);
        }
        memory_free(buffer);
    }
    memory_free(row);
    return error;
}
