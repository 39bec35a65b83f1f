#pragma once
/* The bytes of a tensor of strings: count + 1 offsets (uint64, from 0 on), then the texts one after
 * the other, UTF-8, without terminators. They hold no addresses, so they are copied and stored
 * unchanged. A tensor without elements has no bytes. Tensors of strings are in host memory. Called
 * by string kernels, readers and the assembler. Pure: no state. */
#include <stdint.h>
#include <string.h>

#include "kernels/tensor/tensor.h"

typedef struct StringView {
    const char *text;
    uint64_t size;
} StringView;

/* Bytes of the offsets of count elements; the texts follow. Below 2^63 for every count that a shape
 * has. */
static inline uint64_t string_tensor_head_bytes(int64_t count) {
    return count == 0 ? 0 : ((uint64_t)count + 1) * sizeof(uint64_t);
}
/* Element `index`. data: checked before. */
static inline StringView string_tensor_at(const void *data, int64_t count, int64_t index) {
    uint64_t from, to;
    memcpy(&from, (const char *)data + (uint64_t)index * sizeof from, sizeof from);
    memcpy(&to, (const char *)data + ((uint64_t)index + 1) * sizeof to, sizeof to);
    return (StringView){(const char *)data + string_tensor_head_bytes(count) + from, to - from};
}

/* Checks bytes from outside. Errors: INVALID offsets that do not tile the texts, a text that is not
 * UTF-8. */
MUST_CHECK Error *string_tensor_check_bytes(const void *data, uint64_t size, int64_t count);
/* Checks a tensor of strings in host memory; other tensors always pass. */
MUST_CHECK Error *string_tensor_check(const Tensor *tensor);
/* Makes a tensor on the host, outside any execution. */
MUST_CHECK Error *string_tensor_create(const Shape *shape, const StringView *texts, Tensor **out);

/* Writes elements one after the other into bytes that have room for them. */
typedef struct StringWriter {
    char *data;
    int64_t count, index;
    uint64_t text_bytes;
} StringWriter;
StringWriter string_writer_open(void *data, int64_t count);
/* Appends to the next element; string_writer_end completes it. */
static inline void string_writer_add(StringWriter *writer, StringView text) {
    char *to = writer->data + string_tensor_head_bytes(writer->count) + writer->text_bytes;
    if (text.size == 1) /* saves the call: characters are often texts of their own */
        to[0] = text.text[0];
    else if (text.size > 0)
        memcpy(to, text.text, text.size);
    writer->text_bytes += text.size;
}
/* Appends `size` bytes that the caller then writes to the address. */
static inline char *string_writer_skip(StringWriter *writer, uint64_t size) {
    char *to = writer->data + string_tensor_head_bytes(writer->count) + writer->text_bytes;
    writer->text_bytes += size;
    return to;
}
static inline void string_writer_end(StringWriter *writer) {
    writer->index++;
    memcpy(writer->data + (uint64_t)writer->index * sizeof(uint64_t), &writer->text_bytes,
        sizeof(uint64_t));
}
