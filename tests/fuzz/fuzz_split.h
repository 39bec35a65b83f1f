#pragma once
/* Inputs of two files: a text, and behind its first NUL the bytes of another file. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct FuzzSplit {
    size_t text_size;
    const uint8_t *rest; /* NULL: there is no NUL */
    size_t rest_size;
} FuzzSplit;

static inline FuzzSplit fuzz_split(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    if (!end) return (FuzzSplit){.text_size = size};
    const size_t text_size = (size_t)(end - data);
    return (FuzzSplit){text_size, end + 1, size - text_size - 1};
}
