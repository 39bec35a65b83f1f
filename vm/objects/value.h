#pragma once
/* The content of a register: a 16-byte tagged value, which is nil, a scalar, or a counted reference
 * to an object. Used by everything above kernels/. Reference counts are atomic; a value itself
 * belongs to one thread. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/refcount.h"
#include "kernels/tensor/dtype.h"

typedef enum ValueTag { /* stored, never reused */
    VALUE_NIL = 0,
    VALUE_BOOL = 1,
    VALUE_INT = 2,
    VALUE_FLOAT = 3,
    VALUE_DTYPE = 4,
    VALUE_OBJECT = 5,
} ValueTag;

typedef enum ObjectKind {
    OBJECT_NONE = 0,
#define OBJECT(NAME, number, Type, text) OBJECT_##NAME = number,
#include "vm/objects/objects.def"
#undef OBJECT
    OBJECT_KIND_COUNT
} ObjectKind;

#define OBJECT(NAME, number, Type, text) struct Type;
#include "vm/objects/objects.def"
#undef OBJECT

typedef struct Value {
    uint8_t tag;  /* ValueTag */
    uint8_t kind; /* ObjectKind for VALUE_OBJECT, otherwise 0 */
    union {
        bool boolean;
        int64_t integer;
        double real;
        DType dtype;
        Refcount *object; /* every object begins with its count */
        struct Tensor *tensor;
        struct Storage *storage;
        struct Adt *adt;
        struct List *list;
        struct Closure *closure;
        struct ShapeObject *shape;
        struct StringObject *string;
        struct PackedObject *packed_function;
        struct Opaque *opaque;
    };
} Value;
static_assert(sizeof(Value) == 16, "a register is 16 bytes");

static inline Value value_nil(void) { return (Value){.tag = VALUE_NIL}; }
static inline Value value_bool(bool boolean) {
    return (Value){.tag = VALUE_BOOL, .boolean = boolean};
}
static inline Value value_int(int64_t integer) {
    return (Value){.tag = VALUE_INT, .integer = integer};
}
static inline Value value_float(double real) { return (Value){.tag = VALUE_FLOAT, .real = real}; }
static inline Value value_dtype(DType dtype) { return (Value){.tag = VALUE_DTYPE, .dtype = dtype}; }
/* Takes over the caller's reference. */
static inline Value value_object(ObjectKind kind, void *owned_object) {
    return (Value){.tag = VALUE_OBJECT, .kind = (uint8_t)kind, .object = owned_object};
}
static inline bool value_is(const Value *value, ObjectKind kind) {
    return value->tag == VALUE_OBJECT && value->kind == kind;
}
/* Another reference to the same object. */
static inline Value value_copy(Value value) {
    if (value.tag == VALUE_OBJECT) refcount_retain(value.object);
    return value;
}
/* Drops a reference, and destroys the object with the last one (object.c). Never recurses deeply:
 * nested objects are released through an explicit worklist, so a list of depth 10^7 is fine. */
void value_release_object(Value value);
static inline void value_release(Value *value) {
    if (value->tag == VALUE_OBJECT) value_release_object(*value);
    *value = value_nil();
}
