#include "tests/onnx_suite/suite_compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "kernels/tensor/dtype_bits.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/list.h"

/* NULL: the bits. */
typedef const SuiteTolerance *Tolerance;

static Error *compare_kinds(const Value *made, const Value *wanted) {
    if (made->tag != wanted->tag || made->kind != wanted->kind)
        FAIL(INTERNAL, "kind %d.%d of value, not %d.%d", made->tag, made->kind, wanted->tag,
            wanted->kind);
    return NULL;
}

static Error *compare_types(const Tensor *made, const Tensor *wanted) {
    TextBuilder OWN_TEXT(text) = {0};
    if (made->dtype != wanted->dtype)
        FAIL(INTERNAL, "%s, not %s", dtype_name(made->dtype), dtype_name(wanted->dtype));
    if (shape_equal(&made->shape, &wanted->shape)) return NULL;
    shape_print(&made->shape, &text);
    text_append(&text, ", not ");
    shape_print(&wanted->shape, &text);
    FAIL(INTERNAL, "shape %s", text_builder_get(&text));
}

/* As ONNX's own runner compares: bfloat16 within two units of its last place. */
static double relative_tolerance(DType dtype, Tolerance tolerance) {
    return dtype == DTYPE_BFLOAT16 ? fmax(tolerance->relative, 0x1p-6) : tolerance->relative;
}

static bool is_near(double made, double wanted, double relative, Tolerance tolerance) {
    if (made == wanted || (isnan(made) && isnan(wanted))) return true;
    return fabs(made - wanted) <= tolerance->absolute + relative * fabs(wanted);
}

static Error *compare_elements(const Tensor *made, const Tensor *wanted, Tolerance tolerance) {
    const void *made_data = tensor_data(made), *wanted_data = tensor_data(wanted);
    uint64_t bytes = tensor_bytes(wanted);
    if (bytes != tensor_bytes(made)) FAIL(INTERNAL, "other elements"); /* of strings */
    if (bytes == 0 || memcmp(made_data, wanted_data, bytes) == 0) return NULL;
    if (!tolerance || !dtype_is_float(wanted->dtype)) FAIL(INTERNAL, "other elements");
    const double relative = relative_tolerance(wanted->dtype, tolerance);
    const uint64_t count = (uint64_t)shape_count_unchecked(&wanted->shape);
    for (uint64_t i = 0; i < count; i++) {
        double one, other;
        if (!dtype_bits_read_element(made->dtype, made_data, i, &one) ||
            !dtype_bits_read_element(wanted->dtype, wanted_data, i, &other))
            FAIL(INTERNAL, "other elements");
        if (!is_near(one, other, relative, tolerance))
            FAIL(INTERNAL, "element %" PRIu64 " is %.9g, not %.9g", i, one, other);
    }
    return NULL;
}

/* The tensor itself where it is on the host, else a copy. */
static Error *to_host(const Tensor *tensor, Tensor **out) {
    OWN(Tensor, copy) = NULL;
    if (tensor->storage->device->class_->host_memory) {
        *out = tensor_retain((Tensor *)(uintptr_t)tensor);
        return NULL;
    }
    TRY(tensor_create_on_host(device_host(), tensor->dtype, &tensor->shape, &copy));
    TRY(tensor_copy_to_host(tensor, tensor_data(copy)));
    *out = TAKE(copy);
    return NULL;
}

static Error *compare_tensors(const Tensor *made, const Tensor *wanted, Tolerance tolerance) {
    OWN(Tensor, made_here) = NULL;
    OWN(Tensor, wanted_here) = NULL;
    TRY(compare_types(made, wanted));
    TRY(to_host(made, &made_here));
    TRY(to_host(wanted, &wanted_here));
    return compare_elements(made_here, wanted_here, tolerance);
}

static Error *compare_one(const Value *made, const Value *wanted, Tolerance tolerance) {
    TRY(compare_kinds(made, wanted));
    if (value_is(wanted, OBJECT_TENSOR))
        return compare_tensors(made->tensor, wanted->tensor, tolerance);
    return NULL;
}

static Error *compare(const Value *made, const Value *wanted, Tolerance tolerance) {
    TRY(compare_one(made, wanted, tolerance));
    if (!value_is(wanted, OBJECT_LIST)) return NULL;
    if (made->list->count != wanted->list->count)
        FAIL(INTERNAL, "%u items, not %u", made->list->count, wanted->list->count);
    for (uint32_t i = 0; i < wanted->list->count; i++)
        TRY_WRAP(
            compare_one(&made->list->items[i], &wanted->list->items[i], tolerance), "item %u", i);
    return NULL;
}

Error *suite_compare(const Value *made, const Value *wanted, const SuiteTolerance *tolerance) {
    return compare(made, wanted, tolerance);
}

Error *suite_compare_bits(const Value *made, const Value *wanted) {
    return compare(made, wanted, NULL);
}
