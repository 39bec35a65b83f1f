#include "vm/objects/list.h"

#include "base/allocator.h"
#include "vm/objects/small_block.h"

enum { LIST_CAPACITY_MIN = 4 };

static Error *set_capacity(List *list, uint64_t capacity) {
    if (capacity > LIST_COUNT_MAX)
        FAIL(EXHAUSTED, "a list of %llu items; there may be %d", (unsigned long long)capacity,
            LIST_COUNT_MAX);
    if (capacity == list->capacity) return NULL;
    uint64_t more = (capacity - list->capacity) * OBJECT_PLACE_BYTES;
    TRY(object_meter_charge(list->meter, more));
    void *items = list->items;
    Error *error = memory_resize(&items, capacity, sizeof(Value));
    if (error) {
        object_meter_refund(list->meter, more);
        return error;
    }
    list->items = items;
    list->capacity = capacity;
    return NULL;
}

Error *list_create(ObjectMeter *meter, uint64_t capacity, List **out) {
    TRY(object_meter_charge(meter, sizeof(List)));
    void *memory;
    Error *error = small_block_take(sizeof(List), &memory);
    if (error) {
        object_meter_refund(meter, sizeof(List));
        return error;
    }
    OWN(List, list) = memory;
    *list = (List){.meter = meter};
    refcount_init(&list->refcount);
    TRY(set_capacity(list, capacity));
    *out = TAKE(list);
    return NULL;
}

void list_release(List *list) {
    if (list) value_release_object(value_object(OBJECT_LIST, list));
}

Error *list_append(List *list, Value owned_value) {
    if (list->count == list->capacity) {
        uint64_t capacity = list->capacity ? list->capacity * 2 : LIST_CAPACITY_MIN;
        Error *error = set_capacity(list, capacity);
        if (error) {
            value_release(&owned_value);
            return error;
        }
    }
    list->items[list->count++] = owned_value;
    return NULL;
}

Error *list_copy(const List *list, ObjectMeter *meter, uint64_t spare, List **out) {
    List *copy;
    TRY(list_create(meter, list->count + spare, &copy));
    for (uint32_t i = 0; i < list->count; i++) copy->items[i] = value_copy(list->items[i]);
    copy->count = list->count;
    *out = copy;
    return NULL;
}
