#include <math.h>
#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/packed_internal.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"
#include "vm/objects/value_equal.h"

/* The registry has checked the count of arguments; these check their kinds. */
static Error *expect(const Value *arguments, uint32_t index, ObjectKind kind) {
    if (value_is(&arguments[index], kind)) return NULL;
    FAIL(INVALID, "argument %u is a %s, not a %s", index, value_kind_name(&arguments[index]),
        object_kind_name(kind));
}

static Error *expect_tag(const Value *arguments, uint32_t index, ValueTag tag, const char *name) {
    if (arguments[index].tag == tag) return NULL;
    FAIL(INVALID, "argument %u is a %s, not a %s", index, value_kind_name(&arguments[index]), name);
}

static Error *expect_index(
    const Value *arguments, uint32_t index, uint64_t limit, uint32_t *out_value) {
    TRY(expect_tag(arguments, index, VALUE_INT, "int"));
    int64_t value = arguments[index].integer;
    if (value < 0 || (uint64_t)value >= limit)
        FAIL(INVALID, "argument %u: index %lld of %llu", index, (long long)value,
            (unsigned long long)limit);
    *out_value = (uint32_t)value;
    return NULL;
}

/* Reads a position in a list, or after its end if limit is one more than its items; a negative one
 * counts from the list's end. */
static Error *expect_position(const Value *arguments, uint32_t index, uint32_t list_count,
    uint64_t limit, uint32_t *out_value) {
    TRY(expect_tag(arguments, index, VALUE_INT, "int"));
    int64_t value = arguments[index].integer;
    int64_t from_start = value < 0 ? value + list_count : value;
    if (from_start < 0 || (uint64_t)from_start >= limit)
        FAIL(INVALID, "position %lld of a sequence of %u", (long long)value, list_count);
    *out_value = (uint32_t)from_start;
    return NULL;
}

/* Gives list arguments[0] to write to: itself if it has no other holder, else a copy with room for
 * `spare` more items. */
static Error *own_list(
    const PackedCall *call, const Value *arguments, uint32_t count, uint64_t spare, List **out) {
    const List *list = arguments[0].list;
    bool sole = call->first_is_last_use && refcount_is_sole(&list->refcount);
    for (uint32_t i = 1; sole && i < count; i++)
        sole = arguments[i].tag != VALUE_OBJECT || arguments[i].object != arguments[0].object;
    if (!sole) return list_copy(list, call->meter, spare, out);
    *out = value_copy(arguments[0]).list;
    return NULL;
}

static Error *insert_item(PackedCall *call, const Value *arguments, uint32_t count, uint32_t index,
    const Value *item, Value *out_result) {
    List *list;
    TRY(own_list(call, arguments, count, 1, &list));
    Error *error = list_append(list, value_copy(*item));
    if (error) {
        list_release(list);
        return error;
    }
    const Value last = list->items[list->count - 1];
    memmove(
        list->items + index + 1, list->items + index, (list->count - 1 - index) * sizeof(Value));
    list->items[index] = last;
    *out_result = value_object(OBJECT_LIST, list);
    return NULL;
}

static Error *erase_item(
    PackedCall *call, const Value *arguments, uint32_t count, uint32_t index, Value *out_result) {
    List *list;
    TRY(own_list(call, arguments, count, 0, &list));
    Value old = list->items[index];
    list->count--;
    memmove(list->items + index, list->items + index + 1, (list->count - index) * sizeof(Value));
    value_release(&old);
    *out_result = value_object(OBJECT_LIST, list);
    return NULL;
}

#define PACKED(name)                                                                               \
    Error *packed_##name(PackedCall *call, const Value *arguments, uint32_t count, void *context,  \
        Value *out_result)
#define UNUSED_CALL()                                                                              \
    (void)call;                                                                                    \
    (void)count;                                                                                   \
    (void)context

PACKED(value_kind) {
    UNUSED_CALL();
    const char *name = value_kind_name(&arguments[0]);
    StringObject *string;
    TRY(string_object_create(call->meter, name, strlen(name), &string));
    *out_result = value_object(OBJECT_STRING, string);
    return NULL;
}

PACKED(value_equal) {
    UNUSED_CALL();
    bool equal;
    TRY(value_equal(&arguments[0], &arguments[1], &equal));
    *out_result = value_bool(equal);
    return NULL;
}

PACKED(list_size) {
    UNUSED_CALL();
    if (value_is(&arguments[0], OBJECT_SHAPE)) {
        *out_result = value_int(arguments[0].shape->count);
        return NULL;
    }
    if (!value_is(&arguments[0], OBJECT_ADT)) TRY(expect(arguments, 0, OBJECT_LIST));
    uint32_t size;
    (void)value_children(&arguments[0], &size);
    *out_result = value_int(size);
    return NULL;
}

PACKED(list_set) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    uint32_t index;
    TRY(expect_index(arguments, 1, arguments[0].list->count, &index));
    List *list;
    TRY(own_list(call, arguments, count, 0, &list));
    Value old = list->items[index];
    list->items[index] = value_copy(arguments[2]);
    value_release(&old);
    *out_result = value_object(OBJECT_LIST, list);
    return NULL;
}

PACKED(list_insert) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    uint32_t index;
    TRY(expect_index(arguments, 1, (uint64_t)arguments[0].list->count + 1, &index));
    return insert_item(call, arguments, count, index, &arguments[2], out_result);
}

PACKED(list_erase) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    uint32_t index;
    TRY(expect_index(arguments, 1, arguments[0].list->count, &index));
    return erase_item(call, arguments, count, index, out_result);
}

PACKED(sequence_at) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    const List *list = arguments[0].list;
    uint32_t index;
    TRY(expect_position(arguments, 1, list->count, list->count, &index));
    *out_result = value_copy(list->items[index]);
    return NULL;
}

PACKED(sequence_insert) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    const List *list = arguments[0].list;
    uint32_t index;
    TRY(expect_position(arguments, 2, list->count, (uint64_t)list->count + 1, &index));
    return insert_item(call, arguments, count, index, &arguments[1], out_result);
}

PACKED(sequence_erase) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    const List *list = arguments[0].list;
    uint32_t index;
    TRY(expect_position(arguments, 1, list->count, list->count, &index));
    return erase_item(call, arguments, count, index, out_result);
}

PACKED(optional_has_element) {
    UNUSED_CALL();
    *out_result = value_bool(arguments[0].tag != VALUE_NIL);
    return NULL;
}

PACKED(optional_get_element) {
    UNUSED_CALL();
    if (arguments[0].tag == VALUE_NIL) FAIL(INVALID, "the optional is empty");
    *out_result = value_copy(arguments[0]);
    return NULL;
}

PACKED(list_to_tuple) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_LIST));
    const List *list = arguments[0].list;
    Adt *tuple;
    TRY(adt_create(call->meter, 0, list->count, &tuple));
    for (uint32_t i = 0; i < list->count; i++) tuple->fields[i] = value_copy(list->items[i]);
    *out_result = value_object(OBJECT_ADT, tuple);
    return NULL;
}

PACKED(tuple_to_list) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_ADT));
    const Adt *tuple = arguments[0].adt;
    List *list;
    TRY(list_create(call->meter, tuple->count, &list));
    for (uint32_t i = 0; i < tuple->count; i++) list->items[i] = value_copy(tuple->fields[i]);
    list->count = tuple->count;
    *out_result = value_object(OBJECT_LIST, list);
    return NULL;
}

PACKED(tensor_shape) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_TENSOR));
    ShapeObject *shape;
    TRY(shape_object_create(&arguments[0].tensor->shape, &shape));
    *out_result = value_object(OBJECT_SHAPE, shape);
    return NULL;
}

PACKED(tensor_dtype) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_TENSOR));
    *out_result = value_dtype(arguments[0].tensor->dtype);
    return NULL;
}

PACKED(tensor_slot) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_TENSOR));
    *out_result = value_int(arguments[0].tensor->storage->slot);
    return NULL;
}

PACKED(shape_count) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_SHAPE));
    Shape shape;
    TRY(shape_object_get(arguments[0].shape, &shape));
    *out_result = value_int(shape_count_unchecked(&shape));
    return NULL;
}

PACKED(shape_concat) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_SHAPE));
    TRY(expect(arguments, 1, OBJECT_SHAPE));
    Shape joined;
    TRY(shape_object_get(arguments[0].shape, &joined));
    const ShapeObject *tail = arguments[1].shape;
    if (joined.rank + tail->count > SHAPE_RANK_MAX)
        FAIL(INVALID, "a shape of rank %u; there may be %d", joined.rank + tail->count,
            SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < tail->count; i++) joined.dims[joined.rank++] = tail->dims[i];
    ShapeObject *shape;
    TRY(shape_object_create(&joined, &shape));
    *out_result = value_object(OBJECT_SHAPE, shape);
    return NULL;
}

PACKED(int_to_float) {
    UNUSED_CALL();
    TRY(expect_tag(arguments, 0, VALUE_INT, "int"));
    int64_t integer = arguments[0].integer, exact = INT64_C(1) << 53;
    if (integer > exact || integer < -exact)
        FAIL(INVALID, "%lld has no exact float", (long long)integer);
    *out_result = value_float((double)integer);
    return NULL;
}

PACKED(float_to_int) {
    UNUSED_CALL();
    TRY(expect_tag(arguments, 0, VALUE_FLOAT, "float"));
    double real = trunc(arguments[0].real);
    if (!(real >= -0x1p63 && real < 0x1p63))
        FAIL(INVALID, "%g is outside int64", arguments[0].real);
    *out_result = value_int((int64_t)real);
    return NULL;
}

PACKED(bool_not) {
    UNUSED_CALL();
    TRY(expect_tag(arguments, 0, VALUE_BOOL, "bool"));
    *out_result = value_bool(!arguments[0].boolean);
    return NULL;
}

PACKED(string_concat) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_STRING));
    TRY(expect(arguments, 1, OBJECT_STRING));
    TextBuilder OWN_TEXT(text) = {0};
    text_append_bytes(&text, arguments[0].string->text, arguments[0].string->size);
    text_append_bytes(&text, arguments[1].string->text, arguments[1].string->size);
    TRY(text_builder_check(&text));
    StringObject *string;
    TRY(string_object_create(call->meter, text_builder_get(&text), text.size, &string));
    *out_result = value_object(OBJECT_STRING, string);
    return NULL;
}

static Error *expect_shape_heap(const Value *arguments, ShapeHeap **out) {
    TRY(expect(arguments, 0, OBJECT_OPAQUE));
    const Opaque *opaque = arguments[0].opaque;
    if (opaque->kind != &opaque_shape_heap)
        FAIL(INVALID, "argument 0 is a %s, not a shape heap", opaque->kind->name);
    *out = opaque->state;
    return NULL;
}

PACKED(shape_heap_new) {
    UNUSED_CALL();
    uint32_t cells;
    TRY(expect_index(arguments, 0, (uint64_t)SHAPE_HEAP_CELLS_MAX + 1, &cells));
    ShapeHeap *heap;
    TRY(shape_heap_create(cells, &heap));
    Opaque *opaque;
    TRY(opaque_create(call->meter, &opaque_shape_heap, heap, &opaque));
    *out_result = value_object(OBJECT_OPAQUE, opaque);
    return NULL;
}

PACKED(shape_heap_store) {
    UNUSED_CALL();
    ShapeHeap *heap;
    uint32_t cell;
    TRY(expect_shape_heap(arguments, &heap));
    TRY(expect_index(arguments, 1, heap->count, &cell));
    TRY(expect_tag(arguments, 2, VALUE_INT, "int"));
    heap->cells[cell] = arguments[2].integer;
    *out_result = value_nil();
    return NULL;
}

PACKED(shape_heap_get) {
    UNUSED_CALL();
    ShapeHeap *heap;
    uint32_t cell;
    TRY(expect_shape_heap(arguments, &heap));
    TRY(expect_index(arguments, 1, heap->count, &cell));
    *out_result = value_int(heap->cells[cell]);
    return NULL;
}

PACKED(packed_find) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_STRING));
    PackedObject *packed;
    TRY(packed_object_create(call->registry, arguments[0].string->text, &packed));
    *out_result = value_object(OBJECT_PACKED_FUNCTION, packed);
    return NULL;
}

PACKED(apply) {
    UNUSED_CALL();
    TRY(expect(arguments, 0, OBJECT_CLOSURE));
    TRY(expect(arguments, 1, OBJECT_ADT));
    const Closure *closure = arguments[0].closure;
    const Adt *tuple = arguments[1].adt;
    uint32_t total = closure->count + tuple->count;
    void *memory;
    TRY(memory_alloc(total, sizeof(Value), &memory));
    Value *owned = memory;
    bool first = closure->side == CLOSURE_FIRST;
    Value *bound = first ? owned : owned + tuple->count;
    Value *fields = first ? owned + closure->count : owned;
    for (uint32_t i = 0; i < closure->count; i++) bound[i] = value_copy(closure->bound[i]);
    for (uint32_t i = 0; i < tuple->count; i++) fields[i] = value_copy(tuple->fields[i]);
    call->tail_function = closure->function;
    call->tail_arguments = owned;
    call->tail_argument_count = total;
    *out_result = value_nil();
    return NULL;
}
