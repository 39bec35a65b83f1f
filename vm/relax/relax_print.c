#include <inttypes.h>

#include "kernels/tensor/dtype_scalar.h"
#include "vm/execution/execution_state.h"
#include "vm/objects/string_object.h"
#include "vm/relax/relax_registry.h"

enum { ELEMENTS_SHOWN_MAX = 16, ELEMENT_SIZE_MAX = 8 };

/* Text of a model is hostile: what could end the line or drive a terminal becomes a '?'. */
static void append_text(TextBuilder *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        const bool control = (unsigned char)text[i] < ' ' || text[i] == 0x7f;
        text_append_bytes(out, control ? "?" : &text[i], 1);
    }
}

static void append_dims(TextBuilder *out, const Shape *shape) {
    text_append(out, "(");
    for (uint32_t i = 0; i < shape->rank; i++)
        text_appendf(out, "%s%" PRIi64, i ? ", " : "", shape->dims[i]);
    text_append(out, shape->rank == 1 ? ",)" : ")");
}

static void append_element(TextBuilder *out, DType dtype, const uint8_t *bytes) {
    int64_t integer;
    double real;
    if (dtype_scalar_read_int(dtype, bytes, &integer))
        text_appendf(out, "%" PRIi64, integer);
    else if (dtype_scalar_read(dtype, bytes, &real))
        text_appendf(out, "%.9g", real);
}

/* The first elements, in rows of one line. Element types of less than a byte and texts have none.
 */
static Error *append_elements(TextBuilder *out, const Tensor *tensor) {
    uint8_t bytes[ELEMENTS_SHOWN_MAX * ELEMENT_SIZE_MAX];
    double unused;
    const uint32_t size = dtype_bits(tensor->dtype) / 8;
    const int64_t count = shape_count_unchecked(&tensor->shape);
    const uint32_t shown = count < ELEMENTS_SHOWN_MAX ? (uint32_t)count : ELEMENTS_SHOWN_MAX;
    if (size == 0 || size > ELEMENT_SIZE_MAX) return NULL;
    if (!dtype_scalar_read(tensor->dtype, (const uint8_t[ELEMENT_SIZE_MAX]){0}, &unused))
        return NULL;
    if (shown) TRY(tensor_copy_part_to_host(tensor, 0, (uint64_t)shown * size, bytes));
    text_append(out, ", data = [");
    for (uint32_t i = 0; i < shown; i++) {
        if (i) text_append(out, ", ");
        append_element(out, tensor->dtype, bytes + (size_t)i * size);
    }
    text_append(out, count > shown ? ", ...]" : "]");
    return NULL;
}

static Error *append_value(TextBuilder *out, const Value *value) {
    TextBuilder OWN_TEXT(text) = {0};
    if (value_is(value, OBJECT_TENSOR)) {
        text_append(out, "shape = ");
        append_dims(out, &value->tensor->shape);
        text_appendf(out, ", dtype = %s", dtype_name(value->tensor->dtype));
        if (value->tensor->written) return append_elements(out, value->tensor);
        text_append(out, ", unwritten");
        return NULL;
    }
    if (value_is(value, OBJECT_STRING)) {
        append_text(out, value->string->text, value->string->size);
        return NULL;
    }
    value_print(value, &text);
    append_text(out, text_builder_get(&text), text.size);
    return text_builder_check(&text);
}

RELAX(debug_print) {
    RELAX_UNUSED();
    TextBuilder OWN_TEXT(line) = {0};
    const ExecutionLog *log = call->execution ? &call->execution->options.log : NULL;
    if (!log || !log->line) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (i) text_append(&line, i == 1 && value_is(&arguments[0], OBJECT_STRING) ? ": " : ", ");
        TRY(append_value(&line, &arguments[i]));
    }
    TRY(text_builder_check(&line));
    log->line(log->context, text_builder_get(&line));
    return NULL;
}
