#pragma once
/* An ADT: a tag and fields, immutable once built. A tuple has tag 0. Made by handlers of
 * instructions, builtins and readers; after it is built any thread may read it. */
#include "vm/objects/object.h"

typedef struct Adt {
    Refcount refcount;
    uint32_t count;
    int64_t tag;
    ObjectMeter *meter; /* may be NULL */
    Value fields[];
} Adt;

enum { ADT_FIELDS_MAX = 1 << 16, ADT_TAG_MAX = INT32_MAX };

/* All fields start as nil: the maker fills them before the ADT is shared. */
MUST_CHECK Error *adt_create(ObjectMeter *meter, int64_t tag, uint32_t count, Adt **out);
void adt_release(Adt *adt);
DEFINE_OWN(Adt, adt_release);
