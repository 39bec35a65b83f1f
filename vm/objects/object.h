#pragma once
/* What all objects share: names, printing, releasing without recursion, and the meter that counts
 * the memory of an execution's objects beside its tensors. */
#include "base/text.h"
#include "vm/objects/value.h"

/* Bytes of containers, strings and opaque objects an execution made, against a limit. Objects hold
 * on to their meter, so it lives until the last of them goes, on whatever thread. */
typedef struct ObjectMeter ObjectMeter;
/* What a place for a value in a container or frame is charged: the value, and the header of the
 * object that it may be the only one to hold. A tensor that is a view costs no other memory, and
 * without this a list of them would take a multiple of what is counted. */
enum { OBJECT_PLACE_BYTES = 256 };
MUST_CHECK Error *object_meter_create(uint64_t limit_bytes, ObjectMeter **out);
void object_meter_release(ObjectMeter *meter);
DEFINE_OWN(ObjectMeter, object_meter_release);
/* meter NULL: nothing is counted. Errors: EXHAUSTED. */
MUST_CHECK Error *object_meter_charge(ObjectMeter *meter, uint64_t bytes);
void object_meter_refund(ObjectMeter *meter, uint64_t bytes);
uint64_t object_meter_used_bytes(const ObjectMeter *meter);

/* How ADTs, lists and closures begin. */
typedef struct ContainerHead {
    Refcount refcount;
    uint32_t count; /* of values in it */
    uint64_t word;  /* the kind's own; release links dead containers through it */
    ObjectMeter *meter;
} ContainerHead;

/* NULL for numbers that no row of objects.def has. */
const char *object_kind_name(uint32_t kind);
/* "int", "tensor", …: what error messages call a value. */
const char *value_kind_name(const Value *value);
static inline bool object_kind_is_container(uint32_t kind) {
    return kind == OBJECT_ADT || kind == OBJECT_LIST || kind == OBJECT_CLOSURE;
}
/* The values inside a container; NULL and 0 for everything else. Borrowed. */
const Value *value_children(const Value *value, uint32_t *out_count);
/* For people: "(1, tensor float32[2, 3], [...])"; long and deep ones are cut. Tensors' data is not
 * read. */
void value_print(const Value *value, TextBuilder *out);
