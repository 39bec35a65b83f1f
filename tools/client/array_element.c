#include "tools/client/array_element.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/tensor/dtype_bits.h"

enum { TEXT_SHOWN_MAX = 72, NUMBER_SIZE = 40, DIGITS_SHOWN = 6 };

static int64_t signed_at(const NamedArray *array, uint64_t index) {
    int64_t value;
    memcpy(&value, array->data + index * sizeof value, sizeof value);
    return value;
}

static uint64_t unsigned_at(const NamedArray *array, uint64_t index) {
    uint64_t value;
    memcpy(&value, array->data + index * sizeof value, sizeof value);
    return value;
}

bool array_element_number(const NamedArray *array, uint64_t index, long double *out) {
    double value = 0;
    if (array->dtype == DTYPE_INT64)
        *out = (long double)signed_at(array, index);
    else if (array->dtype == DTYPE_UINT64)
        *out = (long double)unsigned_at(array, index);
    else if (dtype_bits_read_element(array->dtype, array->data, index, &value))
        *out = value;
    else
        return false;
    return true;
}

/* ---- texts ---- */

/* Appends `size` bytes of a text. Returns whether every byte was appended unchanged. */
static bool append_safe(const char *text, size_t size, TextBuilder *out) {
    const bool is_utf8 = text_is_utf8(text, size);
    bool same = true;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text[i];
        /* C2 80 to C2 9F are the control characters of the second half of Latin-1 */
        const bool is_control = is_utf8 && byte == 0xC2 && (unsigned char)text[i + 1] < 0xA0;
        const bool is_broken = !is_utf8 && byte >= 0x80;
        if (is_broken)
            text_append(out, "\\ufffd");
        else if (is_control)
            text_appendf(out, "\\u%04x", (unsigned)(unsigned char)text[++i]);
        else if (byte < 0x20 || byte == 0x7F || byte == '"' || byte == '\\')
            text_appendf(out, "\\u%04x", (unsigned)byte);
        else {
            text_append_bytes(out, &text[i], 1);
            continue;
        }
        same = false;
    }
    return same;
}

void array_element_print_text(const char *text, TextBuilder *out) {
    text_append(out, "\"");
    (void)append_safe(text, strlen(text), out);
    text_append(out, "\"");
}

void array_element_print_name(const char *name, TextBuilder *out) {
    TextBuilder OWN_TEXT(plain) = {0};
    if (append_safe(name, strlen(name), &plain))
        text_append(out, text_builder_get(&plain));
    else
        array_element_print_text(name, out);
}

static void print_cut_text(const char *text, TextBuilder *out) {
    size_t size = strlen(text);
    if (size <= TEXT_SHOWN_MAX) {
        array_element_print_text(text, out);
        return;
    }
    size = TEXT_SHOWN_MAX;
    while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80) size--; /* whole letters */
    text_append(out, "\"");
    (void)append_safe(text, size, out);
    text_append(out, "\"...");
}

/* ---- numbers ---- */

static const char *name_of_special(double value) {
    return isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

/* Whether the printed number becomes the same element again. */
static bool reads_the_same(DType dtype, const char *text, double value) {
    uint8_t bytes[8] = {0};
    double parsed, read;
    if (!text_parse_f64(text, &parsed)) return false;
    if (!dtype_bits_write_element(dtype, bytes, 0, parsed)) return false;
    return dtype_bits_read_element(dtype, bytes, 0, &read) && read == value;
}

/* Appends the number with the fewest digits that suffice. */
static void print_exact(DType dtype, double value, TextBuilder *out) {
    const uint32_t bits = dtype_bits(dtype);
    char text[NUMBER_SIZE];
    for (int digits = bits == 64 ? 15 : bits == 32 ? 6 : 2; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (reads_the_same(dtype, text, value)) break;
    }
    text_append(out, text);
    if (!strpbrk(text, ".e")) text_append(out, ".0"); /* -0 would be read as the integer 0 */
}

static void print_whole(const NamedArray *array, uint64_t index, TextBuilder *out) {
    double value = 0;
    if (array->dtype == DTYPE_INT64)
        text_appendf(out, "%" PRId64, signed_at(array, index));
    else if (array->dtype == DTYPE_UINT64)
        text_appendf(out, "%" PRIu64, unsigned_at(array, index));
    else {
        (void)dtype_bits_read_element(array->dtype, array->data, index, &value);
        if (array->dtype == DTYPE_BOOL)
            text_append(out, value != 0 ? "true" : "false");
        else
            text_appendf(out, "%" PRId64, (int64_t)value); /* at most 32 bits */
    }
}

void array_element_print_json(const NamedArray *array, uint64_t index, TextBuilder *out) {
    double value = 0;
    if (array->dtype == DTYPE_STRING) {
        array_element_print_text(array->texts[index], out);
        return;
    }
    if (!dtype_is_float(array->dtype)) {
        print_whole(array, index, out);
        return;
    }
    (void)dtype_bits_read_element(array->dtype, array->data, index, &value);
    if (isfinite(value))
        print_exact(array->dtype, value, out);
    else
        text_appendf(out, "\"%s\"", name_of_special(value));
}

void array_element_print(const NamedArray *array, uint64_t index, TextBuilder *out) {
    double value = 0;
    if (array->dtype == DTYPE_STRING) {
        print_cut_text(array->texts[index], out);
        return;
    }
    if (!dtype_is_float(array->dtype)) {
        print_whole(array, index, out);
        return;
    }
    (void)dtype_bits_read_element(array->dtype, array->data, index, &value);
    if (isfinite(value))
        text_appendf(out, "%.*g", DIGITS_SHOWN, value);
    else
        text_append(out, name_of_special(value));
}
