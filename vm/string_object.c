#include "vm/string_object.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"

Error *string_object_create(const char *text, size_t size, StringObject **out) {
    if (size > STRING_OBJECT_SIZE_MAX)
        FAIL(INVALID, "a string of %zu bytes; there may be %d", size, STRING_OBJECT_SIZE_MAX);
    if (memchr(text, '\0', size) || !text_is_utf8(text, size))
        FAIL(INVALID, "a string that is not UTF-8 without NUL");
    void *memory;
    TRY(memory_alloc(1, sizeof(StringObject) + size + 1, &memory));
    StringObject *string = memory;
    refcount_init(&string->refcount);
    string->size = (uint32_t)size;
    memcpy(string->text, text, size);
    *out = string;
    return NULL;
}

void string_object_release(StringObject *string) {
    if (string && refcount_release(&string->refcount)) memory_free(string);
}
