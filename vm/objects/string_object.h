#pragma once
/* A string as a value: immutable UTF-8 without NUL. Made by instructions, readers and the
 * assembler; any thread may read one. */
#include <stddef.h>

#include "base/error.h"
#include "vm/objects/value.h"

enum { STRING_OBJECT_SIZE_MAX = 1 << 28 };

typedef struct StringObject {
    Refcount refcount;
    uint32_t size;
    struct ObjectMeter *meter;
    char text[]; /* NUL-terminated */
} StringObject;

/* meter: charged for the string; NULL: none, for constants and names. Errors: INVALID not UTF-8, a
 * NUL inside, too long; EXHAUSTED. */
MUST_CHECK Error *string_object_create(
    struct ObjectMeter *meter, const char *text, size_t size, StringObject **out);
void string_object_release(StringObject *string);
DEFINE_OWN(StringObject, string_object_release);
