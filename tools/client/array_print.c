#include "tools/client/array_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tools/client/array_element.h"

enum { LINE_WIDTH = 100, MARGIN = 2 };

static uint64_t count_of(const NamedArray *array) {
    return (uint64_t)shape_count_unchecked(&array->shape);
}

ArraySummary array_summarize(const NamedArray *array) {
    ArraySummary summary = {0};
    const uint64_t count = count_of(array);
    long double value = 0, min = 0, max = 0, sum = 0;
    for (uint64_t i = 0; i < count && array_element_number(array, i, &value); i++) {
        if (isnan(value)) {
            summary.nan_count++;
            continue;
        }
        if (!summary.has_numbers || value < min) {
            min = value;
            summary.min_index = i;
        }
        if (!summary.has_numbers || value > max) {
            max = value;
            summary.max_index = i;
        }
        sum += value;
        summary.has_numbers = true;
    }
    if (summary.has_numbers) summary.mean = (double)(sum / (count - summary.nan_count));
    return summary;
}

/* ---- for people ---- */

/* An array whose elements are being appended. */
typedef struct Printing {
    const NamedArray *array;
    TextBuilder *out;
    uint64_t index;    /* of the next element */
    size_t width;      /* of the widest element */
    size_t line_start; /* where the present line begins in out */
} Printing;

static void begin_line(Printing *printing, uint32_t axis) {
    text_append(printing->out, "\n");
    printing->line_start = printing->out->size;
    text_appendf(printing->out, "%*s", (int)(MARGIN + axis + 1), "");
}

static void print_element(Printing *printing) {
    TextBuilder OWN_TEXT(text) = {0};
    array_element_print(printing->array, printing->index++, &text);
    text_appendf(printing->out, "%*s", (int)printing->width, text_builder_get(&text));
}

static void separate(Printing *printing, uint32_t axis) {
    const uint32_t inner = printing->array->shape.rank - axis - 1;
    text_append(printing->out, ",");
    for (uint32_t i = 1; i < inner; i++) text_append(printing->out, "\n");
    const size_t length = printing->out->size - printing->line_start;
    if (inner > 0 || length + 1 + printing->width >= LINE_WIDTH)
        begin_line(printing, axis);
    else
        text_append(printing->out, " ");
}

static void print_axis(Printing *printing, uint32_t axis) {
    if (axis == printing->array->shape.rank) {
        print_element(printing);
        return;
    }
    text_append(printing->out, "[");
    for (int64_t i = 0; i < printing->array->shape.dims[axis]; i++) {
        if (i > 0) separate(printing, axis);
        print_axis(printing, axis + 1);
    }
    text_append(printing->out, "]");
}

static size_t widest(const NamedArray *array) {
    size_t width = 0;
    for (uint64_t i = 0; i < count_of(array); i++) {
        TextBuilder OWN_TEXT(text) = {0};
        array_element_print(array, i, &text);
        if (text.size > width) width = text.size;
    }
    return width;
}

static void print_summary(const NamedArray *array, TextBuilder *out) {
    const ArraySummary summary = array_summarize(array);
    text_appendf(out, "  %" PRIu64 " elements", count_of(array));
    if (summary.has_numbers) {
        text_append(out, ": min ");
        array_element_print(array, summary.min_index, out);
        text_append(out, ", max ");
        array_element_print(array, summary.max_index, out);
        text_appendf(out, ", mean %.6g", summary.mean);
    }
    if (dtype_is_float(array->dtype)) text_appendf(out, ", %" PRIu64 " NaN", summary.nan_count);
}

void array_print_lines(const NamedArray *array, TextBuilder *out) {
    const uint64_t count = count_of(array);
    array_element_print_name(array->name, out);
    text_appendf(out, ": %s ", dtype_name(array->dtype));
    shape_print(&array->shape, out);
    text_append(out, "\n");
    if (count == 0) return;
    if (count > ARRAY_PRINT_WHOLE_MAX)
        print_summary(array, out);
    else {
        Printing printing = {.array = array, .out = out, .width = widest(array)};
        printing.line_start = out->size;
        text_appendf(out, "%*s", MARGIN, "");
        print_axis(&printing, 0);
    }
    text_append(out, "\n");
}

/* ---- JSON ---- */

static void print_json_axis(
    const NamedArray *array, uint32_t axis, uint64_t *inout_index, TextBuilder *out) {
    if (axis == array->shape.rank) {
        array_element_print_json(array, (*inout_index)++, out);
        return;
    }
    text_append(out, "[");
    for (int64_t i = 0; i < array->shape.dims[axis]; i++) {
        if (i > 0) text_append(out, ",");
        print_json_axis(array, axis + 1, inout_index, out);
    }
    text_append(out, "]");
}

static void print_json_summary(const NamedArray *array, TextBuilder *out) {
    const ArraySummary summary = array_summarize(array);
    const bool mean_is_finite = summary.has_numbers && isfinite(summary.mean);
    text_append(out, ",\"min\":");
    if (summary.has_numbers)
        array_element_print_json(array, summary.min_index, out);
    else
        text_append(out, "null");
    text_append(out, ",\"max\":");
    if (summary.has_numbers)
        array_element_print_json(array, summary.max_index, out);
    else
        text_append(out, "null");
    if (mean_is_finite)
        text_appendf(out, ",\"mean\":%.17g", summary.mean);
    else
        text_append(out, ",\"mean\":null");
    text_appendf(out, ",\"nan\":%" PRIu64, summary.nan_count);
}

void array_print_json(const NamedArray *array, bool whole, TextBuilder *out) {
    const uint64_t count = count_of(array);
    uint64_t index = 0;
    text_append(out, "{\"name\":");
    array_element_print_text(array->name, out);
    text_appendf(out, ",\"dtype\":\"%s\",\"shape\":[", dtype_name(array->dtype));
    for (uint32_t i = 0; i < array->shape.rank; i++)
        text_appendf(out, "%s%" PRId64, i ? "," : "", array->shape.dims[i]);
    text_append(out, "]");
    if (!whole && count > ARRAY_PRINT_WHOLE_MAX)
        print_json_summary(array, out);
    else {
        text_append(out, ",\"data\":");
        /* without elements a leading dimension may still be large */
        if (count == 0)
            text_append(out, "[]");
        else
            print_json_axis(array, 0, &index, out);
    }
    text_append(out, "}");
}
