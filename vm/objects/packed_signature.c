#include "vm/objects/packed_signature.h"

#include <assert.h>
#include <limits.h>

#include "vm/objects/object.h"

/* Sets of kinds of values (packed_kind_bit). */
#define SCALAR(tag) (UINT32_C(1) << (tag))
#define KIND(kind) (UINT32_C(1) << (VALUE_OBJECT + (kind)))
static_assert(VALUE_OBJECT + OBJECT_KIND_COUNT < 32, "a bit for each kind");
#define ANY UINT32_MAX
#define NIL SCALAR(VALUE_NIL)
#define INT (SCALAR(VALUE_INT) | SCALAR(VALUE_BOOL))
#define FLOAT SCALAR(VALUE_FLOAT)
#define DTYPE SCALAR(VALUE_DTYPE)
#define TENSOR KIND(OBJECT_TENSOR)
#define STORAGE KIND(OBJECT_STORAGE)
#define SHAPE KIND(OBJECT_SHAPE)
#define STRING KIND(OBJECT_STRING)
#define OPAQUE KIND(OBJECT_OPAQUE)
#define FUNCTION (KIND(OBJECT_CLOSURE) | KIND(OBJECT_PACKED_FUNCTION))
#define TUPLE (KIND(OBJECT_LIST) | KIND(OBJECT_ADT))

const uint32_t packed_letter_sets[UCHAR_MAX + 1] = {
#define PACKED_LETTER(character, accepts, text) [character] = (accepts),
#include "vm/objects/packed_letters.def"
#undef PACKED_LETTER
};

static const char *const meanings[UCHAR_MAX + 1] = {
#define PACKED_LETTER(character, accepts, text) [character] = (text),
#include "vm/objects/packed_letters.def"
#undef PACKED_LETTER
};

const char *packed_letter_meaning(char letter) { return meanings[(uint8_t)letter]; }

Error *packed_signature_refuse(const char *c, const Value *arguments, uint32_t count, uint32_t at) {
    if (at < count && packed_letter_sets[(uint8_t)*c])
        FAIL(INVALID, "argument %u is a %s, not %s", at, value_kind_name(&arguments[at]),
            packed_letter_meaning(*c));
    if (at < count) FAIL(INVALID, "%u arguments; there may be %u", count, at);
    FAIL(INVALID, "argument %u is missing: %s", at, packed_letter_meaning(*c));
}
