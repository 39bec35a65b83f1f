#include "vm/objects/adt.h"

#include "vm/objects/small_block.h"

Error *adt_create(ObjectMeter *meter, int64_t tag, uint32_t count, Adt **out) {
    if (count > ADT_FIELDS_MAX)
        FAIL(INVALID, "an ADT of %u fields; there may be %d", count, ADT_FIELDS_MAX);
    if (tag < 0 || tag > ADT_TAG_MAX) FAIL(INVALID, "an ADT with tag %lld", (long long)tag);
    uint64_t charge = sizeof(Adt) + (uint64_t)count * OBJECT_PLACE_BYTES;
    TRY(object_meter_charge(meter, charge));
    void *memory;
    Error *error = small_block_take(sizeof(Adt) + count * sizeof(Value), &memory);
    if (error) {
        object_meter_refund(meter, charge);
        return error;
    }
    Adt *adt = memory;
    refcount_init(&adt->refcount);
    adt->count = count;
    adt->tag = tag;
    adt->meter = meter;
    for (uint32_t i = 0; i < count; i++) adt->fields[i] = value_nil();
    *out = adt;
    return NULL;
}

void adt_release(Adt *adt) {
    if (adt) value_release_object(value_object(OBJECT_ADT, adt));
}
