#pragma once
/* The bytes of a tensor of strings: count + 1 offsets (uint64, from 0 on), then the texts one
 * behind the other, UTF-8, without ends. They hold no addresses, so they are copied and stored as
 * they are. A tensor without elements has no bytes. Tensors of strings are in host memory. */
#include <stdint.h>
#include <string.h>

#include "kernels/tensor/tensor.h"

typedef struct StringView {
    const char *text;
    uint64_t size;
} StringView;

/* Bytes of the offsets of count elements; the texts begin behind them. Below 2^63 for every count
 * that a shape has. */
static inline uint64_t string_tensor_head_bytes(int64_t count) {
    return count == 0 ? 0 : ((uint64_t)count + 1) * sizeof(uint64_t);
}
/* data: checked. */
static inline StringView string_tensor_at(const void *data, int64_t count, int64_t index) {
    uint64_t from, to;
    memcpy(&from, (const char *)data + (uint64_t)index * sizeof from, sizeof from);
    memcpy(&to, (const char *)data + ((uint64_t)index + 1) * sizeof to, sizeof to);
    return (StringView){(const char *)data + string_tensor_head_bytes(count) + from, to - from};
}

/* Bytes that come from outside. Errors: INVALID offsets that do not tile what is behind them, a
 * text that is not UTF-8. */
MUST_CHECK Error *string_tensor_check_bytes(const void *data, uint64_t size, int64_t count);
/* The same of a tensor in host memory; others are as good as any. */
MUST_CHECK Error *string_tensor_check(const Tensor *tensor);
/* On the host, outside any execution. */
MUST_CHECK Error *string_tensor_create(const Shape *shape, const StringView *texts, Tensor **out);

/* Writes elements one after the other into bytes that have room for them. */
typedef struct StringWriter {
    char *data;
    int64_t count, index;
    uint64_t text_bytes;
} StringWriter;
StringWriter string_writer_open(void *data, int64_t count);
/* The next element, or a part of it: string_writer_end ends it. */
static inline void string_writer_add(StringWriter *writer, StringView text) {
    if (text.size > 0)
        memcpy(writer->data + string_tensor_head_bytes(writer->count) + writer->text_bytes,
            text.text, text.size);
    writer->text_bytes += text.size;
}
static inline void string_writer_end(StringWriter *writer) {
    writer->index++;
    memcpy(writer->data + (uint64_t)writer->index * sizeof(uint64_t), &writer->text_bytes,
        sizeof(uint64_t));
}
