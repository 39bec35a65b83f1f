#pragma once
/* Functions on objects of all kinds: names, printing, releasing without recursion, and the meter
 * that counts the memory of an execution's objects beside its tensors. Called by vm/, serialize/
 * and the compiler; meters are thread-safe. */
#include "base/text.h"
#include "vm/objects/value.h"

/* Bytes of the containers, strings and opaque objects that an execution made, against a limit.
 * Objects hold their meter, so it lives until the last of them is released, on any thread. */
typedef struct ObjectMeter ObjectMeter;
/* Bytes charged for one place for a value in a container or frame: the value, and the header of an
 * object that only this place may hold. A tensor that is a view has no other memory, and without
 * this charge a list of views would take a multiple of the counted bytes. */
enum { OBJECT_PLACE_BYTES = 256 };
MUST_CHECK Error *object_meter_create(uint64_t limit_bytes, ObjectMeter **out);
void object_meter_release(ObjectMeter *meter);
DEFINE_OWN(ObjectMeter, object_meter_release);
/* meter NULL: no counting. Errors: EXHAUSTED. */
MUST_CHECK Error *object_meter_charge(ObjectMeter *meter, uint64_t bytes);
void object_meter_refund(ObjectMeter *meter, uint64_t bytes);
uint64_t object_meter_used_bytes(const ObjectMeter *meter);
/* The most that were used at once. */
uint64_t object_meter_peak_bytes(const ObjectMeter *meter);

/* The common head of ADTs, lists and closures. */
typedef struct ContainerHead {
    Refcount refcount;
    uint32_t count; /* of the container's values */
    uint64_t word;  /* for the kind's own use; value_release_object links dead containers through
                     * it */
    ObjectMeter *meter;
} ContainerHead;

/* NULL for a number without a row in objects.def. */
const char *object_kind_name(uint32_t kind);
/* "int", "tensor", …: the name of a value's kind in error messages. */
const char *value_kind_name(const Value *value);
static inline bool object_kind_is_container(uint32_t kind) {
    return kind == OBJECT_ADT || kind == OBJECT_LIST || kind == OBJECT_CLOSURE;
}
/* The values inside a container; NULL and 0 for other values. Borrowed. */
const Value *value_children(const Value *value, uint32_t *out_count);
/* Prints for people: "(1, tensor float32[2, 3], [...])"; long and deep values are cut. The data of
 * tensors is not read. */
void value_print(const Value *value, TextBuilder *out);
