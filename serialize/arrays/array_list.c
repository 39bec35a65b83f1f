#include "serialize/arrays/array_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/text.h"
#include "kernels/tensor/dtype_bits.h"

static const char dtype_suffix[] = ".dtype";

enum { MAPPED_SIZE_MIN = 1 << 20 }; /* smaller arrays would waste most of a page */

Error *array_data_alloc(uint64_t size, uint8_t **out) {
    void *data = NULL;
    if (size >= MAPPED_SIZE_MIN)
        TRY(memory_map((size_t)size, &data));
    else if (size > 0)
        TRY(memory_alloc((size_t)size, 1, &data));
    *out = data;
    return NULL;
}

void array_data_free(uint8_t *data, uint64_t size) {
    if (size >= MAPPED_SIZE_MIN)
        memory_unmap(data, (size_t)size);
    else
        memory_free(data);
}

void named_array_deinit(NamedArray *array) {
    memory_free(array->name);
    memory_free(array->texts);
    if (array->data) array_data_free(array->data, array->size);
    *array = (NamedArray){0};
}

Error *named_array_init(NamedArray *array, const char *name, DType dtype, const Shape *shape) {
    NamedArray made = {.dtype = dtype, .shape = *shape};
    TRY(shape_bytes(shape, dtype, &made.size));
    TRY(memory_copy_text(name, &made.name));
    Error *error = array_data_alloc(made.size, &made.data);
    if (error) {
        named_array_deinit(&made);
        return error;
    }
    *array = made;
    return NULL;
}

Error *named_array_init_texts(
    NamedArray *array, const char *name, const Shape *shape, const char *const *texts) {
    NamedArray made = {.dtype = DTYPE_STRING, .shape = *shape};
    int64_t count = 0;
    TRY(shape_count(shape, &count));
    size_t size = (size_t)count * sizeof *made.texts;
    for (int64_t i = 0; i < count; i++) size += strlen(texts[i]) + 1;
    void *block = NULL;
    TRY(memory_alloc(size, 1, &block));
    made.texts = block;
    char *to = (char *)(made.texts + count);
    for (int64_t i = 0; i < count; i++) {
        size_t length = strlen(texts[i]) + 1;
        made.texts[i] = memcpy(to, texts[i], length);
        to += length;
    }
    Error *error = memory_copy_text(name, &made.name);
    if (error) {
        named_array_deinit(&made);
        return error;
    }
    *array = made;
    return NULL;
}

void array_list_deinit(ArrayList *list) {
    for (size_t i = 0; i < list->count; i++) named_array_deinit(&list->items[i]);
    memory_free(list->items);
    *list = (ArrayList){0};
}

Error *array_list_add(ArrayList *list, NamedArray *owned_array) {
    void *items = list->items;
    Error *error = memory_grow(&items, list->count, &list->capacity, sizeof *list->items);
    if (error) {
        named_array_deinit(owned_array);
        return error;
    }
    list->items = items;
    list->items[list->count++] = *owned_array;
    *owned_array = (NamedArray){0};
    return NULL;
}

const NamedArray *array_list_find(const ArrayList *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0) return &list->items[i];
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp((*(const NamedArray *const *)a)->name, (*(const NamedArray *const *)b)->name);
}

/* The list's arrays by name, to memory_free. A file may have 100,000 arrays, too many to compare
 * all pairs. */
static Error *sort_by_name(const ArrayList *list, NamedArray ***out) {
    void *memory = NULL;
    TRY(memory_alloc(list->count, sizeof(NamedArray *), &memory));
    NamedArray **sorted = memory;
    for (size_t i = 0; i < list->count; i++) sorted[i] = &list->items[i];
    if (list->count > 0) qsort(sorted, list->count, sizeof *sorted, compare_names);
    *out = sorted;
    return NULL;
}

Error *array_list_check_names(const ArrayList *list) {
    NamedArray **sorted = NULL;
    TRY(sort_by_name(list, &sorted));
    const char *twice = NULL;
    for (size_t i = 1; i < list->count && !twice; i++)
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0) twice = sorted[i]->name;
    memory_free(sorted);
    if (twice) FAIL(INVALID, "two arrays are named %s", twice);
    return NULL;
}

DType array_raw_dtype(DType dtype) {
    if (dtype == DTYPE_STRING || dtype_numpy(dtype)) return dtype;
    return dtype_bits(dtype) == 16 ? DTYPE_UINT16 : DTYPE_UINT8;
}

Error *array_pack(DType dtype, const uint8_t *bytes, size_t count, uint8_t *out_packed) {
    const uint32_t bits = dtype_bits(dtype);
    for (size_t i = 0; i < count; i++)
        if (bytes[i] >> bits)
            FAIL(INVALID, "element %zu is %u, but has only %u bits", i, bytes[i], bits);
    dtype_bits_pack(bits, bytes, 0, count, out_packed);
    return NULL;
}

Error *array_check_bools(const uint8_t *data, uint64_t size) {
    uint8_t all = 0;
    for (uint64_t i = 0; i < size; i++) all |= data[i];
    if (all <= 1) return NULL;
    FAIL(INVALID, "a bool that is neither 0 nor 1");
}

Error *array_find_described_dtype(const char *text, DType written, DType *out) {
    DType dtype = dtype_find(text);
    if (dtype == DTYPE_NONE || dtype == DTYPE_STRING)
        FAIL(INVALID, "there is no element type %.40s", text);
    if (written != dtype && (dtype_numpy(dtype) || written != array_raw_dtype(dtype)))
        FAIL(INVALID, "%s elements are written as %s, not as %s", text,
            dtype_name(array_raw_dtype(dtype)), dtype_name(written));
    *out = dtype;
    return NULL;
}

Error *named_array_describe(NamedArray *array, DType dtype) {
    if (array->dtype == dtype) return NULL;
    if (dtype_bits(dtype) < 8) {
        NamedArray packed = {0};
        TRY(named_array_init(&packed, array->name, dtype, &array->shape));
        Error *error = array_pack(dtype, array->data, (size_t)array->size, packed.data);
        named_array_deinit(error ? &packed : array);
        TRY(error);
        *array = packed;
    }
    array->dtype = dtype;
    return NULL;
}

/* Gives the array, which holds unsigned integers, the element type that text names. */
static Error *apply_dtype(NamedArray *array, const char *text) {
    DType dtype;
    TRY(array_find_described_dtype(text, array->dtype, &dtype));
    return named_array_describe(array, dtype);
}

/* The array whose element type NAME.dtype holds, or NULL. */
static NamedArray *find_described(
    const NamedArray *description, NamedArray **sorted, size_t count) {
    size_t length = strlen(description->name), suffix = sizeof dtype_suffix - 1;
    if (length < suffix || !text_ends_with(description->name, dtype_suffix)) return NULL;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *name = sorted[middle]->name;
        int order = strncmp(name, description->name, length - suffix);
        if (order == 0 && name[length - suffix]) order = 1;
        if (order == 0) return sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

Error *array_list_apply_dtypes(ArrayList *list) {
    NamedArray **sorted = NULL;
    TRY(sort_by_name(list, &sorted));
    Error *error = NULL;
    for (size_t i = 0; i < list->count && !error; i++) {
        const NamedArray *description = &list->items[i];
        NamedArray *described = find_described(description, sorted, list->count);
        if (!described || description->dtype != DTYPE_STRING ||
            shape_count_unchecked(&description->shape) != 1)
            continue;
        error =
            error_wrap(apply_dtype(described, description->texts[0]), "array %s", described->name);
        if (!error) list->items[i].dtype = DTYPE_NONE; /* dropped below */
    }
    memory_free(sorted);
    TRY(error);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].dtype == DTYPE_NONE)
            named_array_deinit(&list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
    return NULL;
}
