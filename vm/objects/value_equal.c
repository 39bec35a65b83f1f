#include "vm/objects/value_equal.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/adt.h"
#include "vm/objects/closure.h"
#include "vm/objects/list.h"
#include "vm/objects/packed.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

/* Pairs still to compare: an explicit stack, since values nest as deep as memory allows. */
typedef struct PairStack {
    Value *pairs; /* borrowed values, two each */
    size_t count, capacity;
    uint64_t pushed;
} PairStack;

static void pair_stack_deinit(PairStack *stack) { memory_free(stack->pairs); }

static Error *push(PairStack *stack, Value a, Value b) {
    if (++stack->pushed > VALUE_EQUAL_PAIRS_MAX)
        FAIL(EXHAUSTED, "comparing more than %d pairs of values", VALUE_EQUAL_PAIRS_MAX);
    if (stack->count + 2 > stack->capacity) {
        size_t capacity = stack->capacity ? stack->capacity * 2 : 32;
        void *pairs = stack->pairs;
        TRY(memory_resize(&pairs, capacity, sizeof(Value)));
        stack->pairs = pairs;
        stack->capacity = capacity;
    }
    stack->pairs[stack->count++] = a;
    stack->pairs[stack->count++] = b;
    return NULL;
}

/* Tensors are compared block by block: whole copies would be memory that no limit counts. */
enum { TENSOR_BLOCK_BYTES = 1 << 18 };

static Error *block_equal(const Tensor *a, const Tensor *b, uint64_t at, uint64_t size,
    uint8_t *blocks, bool *out_equal) {
    TRY(tensor_copy_part_to_host(a, at, size, blocks));
    TRY(tensor_copy_part_to_host(b, at, size, blocks + size));
    *out_equal = memcmp(blocks, blocks + size, size) == 0;
    return NULL;
}

static Error *tensor_bits_equal(const Tensor *a, const Tensor *b, bool *out_equal) {
    *out_equal = false;
    if (a->written != b->written || a->dtype != b->dtype || !shape_equal(&a->shape, &b->shape))
        return NULL;
    uint64_t bytes = tensor_bytes(a);
    if (bytes != tensor_bytes(b)) return NULL; /* of strings */
    *out_equal = true;
    if (!a->written || bytes == 0) return NULL;
    void *blocks;
    uint64_t block = bytes < TENSOR_BLOCK_BYTES ? bytes : TENSOR_BLOCK_BYTES;
    TRY(memory_alloc(2, block, &blocks));
    Error *error = NULL;
    for (uint64_t at = 0; at < bytes && *out_equal && !error; at += block)
        error = block_equal(a, b, at, bytes - at < block ? bytes - at : block, blocks, out_equal);
    memory_free(blocks);
    return error;
}

static Error *leaves_equal(const Value *a, const Value *b, bool *out_equal) {
    switch ((ObjectKind)a->kind) {
    case OBJECT_TENSOR:
        return tensor_bits_equal(a->tensor, b->tensor, out_equal);
    case OBJECT_SHAPE:
        *out_equal = shape_object_equal(a->shape, b->shape);
        return NULL;
    case OBJECT_STRING:
        *out_equal = a->string->size == b->string->size &&
                     memcmp(a->string->text, b->string->text, a->string->size) == 0;
        return NULL;
    case OBJECT_PACKED_FUNCTION:
        *out_equal = strcmp(a->packed_function->name, b->packed_function->name) == 0;
        return NULL;
    case OBJECT_NONE:
    case OBJECT_STORAGE:
    case OBJECT_OPAQUE:
    case OBJECT_ADT:
    case OBJECT_LIST:
    case OBJECT_CLOSURE:
    case OBJECT_KIND_COUNT:
        break;
    }
    *out_equal = a->object == b->object;
    return NULL;
}

static bool heads_equal(const Value *a, const Value *b) {
    if (a->kind == OBJECT_ADT) return a->adt->tag == b->adt->tag;
    if (a->kind == OBJECT_CLOSURE)
        return a->closure->function == b->closure->function && a->closure->side == b->closure->side;
    return true;
}

static Error *scalars_equal(const Value *a, const Value *b, bool *out_equal) {
    *out_equal = a->tag == b->tag;
    if (!*out_equal) return NULL;
    if (a->tag == VALUE_BOOL) *out_equal = a->boolean == b->boolean;
    if (a->tag == VALUE_INT) *out_equal = a->integer == b->integer;
    if (a->tag == VALUE_FLOAT) *out_equal = a->real == b->real;
    if (a->tag == VALUE_DTYPE) *out_equal = a->dtype == b->dtype;
    return NULL;
}

/* Compares one pair; pushes a container's children. */
static Error *compare(PairStack *stack, Value a, Value b, bool *out_equal) {
    if (a.tag != VALUE_OBJECT || b.tag != VALUE_OBJECT) return scalars_equal(&a, &b, out_equal);
    *out_equal = a.kind == b.kind;
    if (!*out_equal || a.object == b.object) return NULL;
    if (!object_kind_is_container(a.kind)) return leaves_equal(&a, &b, out_equal);
    uint32_t a_count, b_count;
    const Value *left = value_children(&a, &a_count), *right = value_children(&b, &b_count);
    *out_equal = a_count == b_count && heads_equal(&a, &b);
    for (uint32_t i = 0; *out_equal && i < a_count; i++) TRY(push(stack, left[i], right[i]));
    return NULL;
}

Error *value_equal(const Value *a, const Value *b, bool *out_equal) {
    __attribute__((cleanup(pair_stack_deinit))) PairStack stack = {0};
    bool equal = true;
    TRY(push(&stack, *a, *b));
    while (equal && stack.count > 0) {
        stack.count -= 2;
        TRY(compare(&stack, stack.pairs[stack.count], stack.pairs[stack.count + 1], &equal));
    }
    *out_equal = equal;
    return NULL;
}
