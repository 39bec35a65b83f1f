/* Tensors of texts, from and to the host. */
#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/tensor/string_tensor.h"
#include "tools/library/library_internal.h"

static Error *make_tensor(const Shape *shape, const LayoverText *items, Tensor **out) {
    int64_t count;
    void *memory;
    Error *error = NULL;
    TRY(shape_count(shape, &count));
    if (count && !items) FAIL(INVALID, "texts without items");
    TRY(memory_alloc((size_t)count, sizeof(StringView), &memory));
    StringView *views = memory;
    for (int64_t i = 0; i < count && !error; i++) {
        views[i] = (StringView){items[i].text, items[i].size};
        if (!items[i].text && items[i].size)
            error = error_make(
                ERROR_INVALID, __FILE__, __LINE__, "text %lld has no bytes", (long long)i);
    }
    if (!error) error = string_tensor_create(shape, views, out);
    memory_free(views);
    return error;
}

Error *library_texts_take(const LayoverTexts *texts, Value *out) {
    OWN(Tensor, tensor) = NULL;
    if (!texts || texts->shape.rank > SHAPE_RANK_MAX || (texts->shape.rank && !texts->shape.dims))
        FAIL(INVALID, "texts of %u dimensions; at most %d", texts ? texts->shape.rank : 0,
            SHAPE_RANK_MAX);
    const Shape shape = shape_make(texts->shape.rank, texts->shape.dims);
    TRY(make_tensor(&shape, texts->items, &tensor));
    TRY(string_tensor_check(tensor));
    *out = value_object(OBJECT_TENSOR, TAKE(tensor));
    return NULL;
}

/* The block that a host frees: the texts, their items, their dimensions, their bytes. */
static Error *make_block(const Shape *shape, size_t count, uint64_t bytes, LayoverTexts **out) {
    void *memory;
    uint64_t size;
    if (!checked_mul_u64(count, sizeof(LayoverText), &size) ||
        !checked_add_u64(size, bytes, &size) ||
        !checked_add_u64(size, sizeof(LayoverTexts) + sizeof shape->dims, &size))
        FAIL(EXHAUSTED, "texts of more than 2^64 bytes");
    TRY(memory_alloc(1, size, &memory));
    LayoverTexts *texts = memory;
    LayoverText *items = (LayoverText *)(texts + 1);
    int64_t *dims = (int64_t *)(items + count);
    memcpy(dims, shape->dims, shape->rank * sizeof *dims);
    *texts = (LayoverTexts){{shape->rank, dims}, items};
    *out = texts;
    return NULL;
}

static Error *give(const Shape *shape, const void *data, uint64_t size, LayoverValue *out) {
    int64_t count;
    LayoverTexts *texts;
    TRY(shape_count(shape, &count));
    TRY(make_block(shape, (size_t)count, size, &texts));
    LayoverText *items = (LayoverText *)(texts + 1);
    char *bytes = (char *)((int64_t *)(items + count) + SHAPE_RANK_MAX);
    for (int64_t i = 0; i < count; i++) {
        const StringView view = string_tensor_at(data, count, i);
        if (view.size) memcpy(bytes, view.text, view.size);
        items[i] = (LayoverText){bytes, view.size};
        bytes += view.size;
    }
    *out = (LayoverValue){LAYOVER_TEXTS, {.texts = texts}};
    return NULL;
}

Error *library_texts_give(const Tensor *tensor, LayoverValue *out) {
    return give(&tensor->shape, tensor_data(tensor), tensor_bytes(tensor), out);
}

Error *library_texts_adopt(const LayoverTexts *texts, LayoverValue *out) {
    Value value;
    TRY(library_texts_take(texts, &value));
    Error *error = library_texts_give(value.tensor, out);
    value_release(&value);
    return error;
}
