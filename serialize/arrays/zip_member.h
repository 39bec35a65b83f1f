#pragma once
/* One member of a zip file, as the checked table of contents describes it. The directory makes
 * members, streams unpack them. */
#include <stdint.h>

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };

typedef struct ZipMember {
    const char *name; /* not NUL-terminated; UTF-8 without NUL */
    uint16_t name_size;
    uint16_t method; /* ZIP_STORED or ZIP_DEFLATED */
    uint32_t crc32;
    uint64_t stored_size; /* of data */
    uint64_t size;        /* unpacked; at most 1032 times stored_size, which is deflate's best */
    uint64_t offset;      /* of the local header */
    const uint8_t *data;
} ZipMember;
