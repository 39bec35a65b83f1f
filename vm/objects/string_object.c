#include "vm/objects/string_object.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "vm/objects/object.h"

static uint64_t charge(size_t size) { return sizeof(StringObject) + size + 1; }

Error *string_object_create(ObjectMeter *meter, const char *text, size_t size, StringObject **out) {
    if (size > STRING_OBJECT_SIZE_MAX)
        FAIL(INVALID, "a string of %zu bytes; there may be %d", size, STRING_OBJECT_SIZE_MAX);
    if (memchr(text, '\0', size) || !text_is_utf8(text, size))
        FAIL(INVALID, "a string that is not UTF-8 without NUL");
    TRY(object_meter_charge(meter, charge(size)));
    void *memory;
    Error *error = memory_alloc(1, charge(size), &memory);
    if (error) {
        object_meter_refund(meter, charge(size));
        return error;
    }
    StringObject *string = memory;
    string->meter = meter;
    refcount_init(&string->refcount);
    string->size = (uint32_t)size;
    memcpy(string->text, text, size);
    *out = string;
    return NULL;
}

void string_object_release(StringObject *string) {
    if (!string || !refcount_release(&string->refcount)) return;
    object_meter_refund(string->meter, charge(string->size));
    memory_free(string);
}
