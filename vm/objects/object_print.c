#include <inttypes.h>

#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/object.h"
#include "vm/objects/opaque.h"
#include "vm/objects/packed.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

/* Printing is for people: nesting and length are cut, which also bounds the recursion. */
enum { PRINT_DEPTH_MAX = 6, PRINT_CHILDREN_MAX = 16, PRINT_STRING_MAX = 200 };

static void print(const Value *value, uint32_t depth, TextBuilder *out);

static void print_children(const Value *value, uint32_t depth, TextBuilder *out) {
    uint32_t count;
    const Value *children = value_children(value, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) text_append(out, ", ");
        if (i == PRINT_CHILDREN_MAX || depth == PRINT_DEPTH_MAX) {
            text_append(out, "...");
            return;
        }
        print(&children[i], depth + 1, out);
    }
}

static void object_print_TENSOR(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    const Tensor *tensor = value->tensor;
    text_appendf(out, "tensor %s", dtype_name(tensor->dtype));
    shape_print(&tensor->shape, out);
    if (!tensor->written) text_append(out, " unwritten");
}

static void object_print_STORAGE(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    text_appendf(
        out, "storage of %" PRIu64 " bytes in slot %u", value->storage->size, value->storage->slot);
}

static void object_print_ADT(const Value *value, uint32_t depth, TextBuilder *out) {
    if (value->adt->tag != 0) text_appendf(out, "adt %" PRIi64 " ", value->adt->tag);
    text_append(out, "(");
    print_children(value, depth, out);
    text_append(out, ")");
}

static void object_print_LIST(const Value *value, uint32_t depth, TextBuilder *out) {
    text_append(out, "[");
    print_children(value, depth, out);
    text_append(out, "]");
}

static void object_print_CLOSURE(const Value *value, uint32_t depth, TextBuilder *out) {
    text_appendf(out, "closure of function %u with %s (", value->closure->function,
        value->closure->side == CLOSURE_FIRST ? "first" : "last");
    print_children(value, depth, out);
    text_append(out, ")");
}

static void object_print_SHAPE(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    text_append(out, "shape ");
    shape_object_print(value->shape, out);
}

static void object_print_STRING(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    bool cut = value->string->size > PRINT_STRING_MAX;
    text_appendf(out, "\"%.*s%s\"", PRINT_STRING_MAX, value->string->text, cut ? "..." : "");
}

static void object_print_PACKED_FUNCTION(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    text_appendf(out, "packed function %s", value->packed_function->name);
}

static void object_print_OPAQUE(const Value *value, uint32_t depth, TextBuilder *out) {
    (void)depth;
    text_appendf(out, "%s", value->opaque->kind->name);
    if (value->opaque->kind->print) {
        text_append(out, " ");
        value->opaque->kind->print(value->opaque->state, out);
    }
}

static void print(const Value *value, uint32_t depth, TextBuilder *out) {
    static void (*const prints[OBJECT_KIND_COUNT])(const Value *, uint32_t, TextBuilder *) = {
#define OBJECT(NAME, number, Type, text) [OBJECT_##NAME] = object_print_##NAME,
#include "vm/objects/objects.def"
#undef OBJECT
    };
    switch ((ValueTag)value->tag) {
    case VALUE_NIL:
        text_append(out, "nil");
        break;
    case VALUE_BOOL:
        text_append(out, value->boolean ? "true" : "false");
        break;
    case VALUE_INT:
        text_appendf(out, "%" PRIi64, value->integer);
        break;
    case VALUE_FLOAT:
        text_appendf(out, "%.17g", value->real);
        break;
    case VALUE_DTYPE:
        text_append(out, dtype_name(value->dtype));
        break;
    case VALUE_OBJECT:
        prints[value->kind](value, depth, out);
        break;
    }
}

void value_print(const Value *value, TextBuilder *out) { print(value, 0, out); }
