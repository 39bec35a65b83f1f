#pragma once
/* Parses the JSON header of a safetensors file: one object of objects, read strictly and in one
 * pass. Caller: safetensors.c. Pure: no state, any thread. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kernels/tensor/shape.h"

typedef struct SafetensorsEntry {
    char *name;
    DType dtype;
    Shape shape;
    uint64_t begin; /* from the first byte behind the header */
    uint64_t end;
} SafetensorsEntry;

typedef struct SafetensorsHeader {
    SafetensorsEntry *entries; /* in the header's order */
    size_t count;
    size_t capacity;
} SafetensorsHeader;

void safetensors_header_deinit(SafetensorsHeader *header);
/* Errors: as safetensors_read. */
MUST_CHECK Error *safetensors_header_parse(const char *text, size_t size, SafetensorsHeader *out);

/* "F32"; NULL where safetensors has none. */
const char *safetensors_header_dtype_name(DType dtype);
DType safetensors_header_find_dtype(const char *text);
