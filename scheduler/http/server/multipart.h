#pragma once
/* Parses multipart/form-data: a body of named parts (RFC 7578), whole in memory. Called by
 * route_submit.c. Pure: no state. */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    MULTIPART_PARTS_MAX = 8,
    MULTIPART_NAME_SIZE = 65,
    MULTIPART_BOUNDARY_MAX = 70,
    MULTIPART_HEAD_MAX = 4096, /* of one part */
};

typedef struct MultipartPart {
    char name[MULTIPART_NAME_SIZE];
    const uint8_t *data; /* borrowed from the body */
    size_t size;
} MultipartPart;

typedef struct Multipart {
    MultipartPart parts[MULTIPART_PARTS_MAX];
    size_t count;
} Multipart;

/* content_type: "multipart/form-data; boundary=…". Each part must have a different name. Errors:
 * INVALID. */
MUST_CHECK Error *multipart_parse(
    const char *content_type, const uint8_t *data, size_t size, Multipart *out);
/* NULL: there is none. */
const MultipartPart *multipart_find(const Multipart *multipart, const char *name);
