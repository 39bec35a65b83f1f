#include "serialize/arrays/npy.h"

#include <string.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/text.h"
#include "kernels/tensor/dtype_bits.h"
#include "serialize/arrays/npy_header.h"

enum { HEADER_SIZE_MAX = NPY_HEAD_SIZE_MAX - NPY_PREFIX_SIZE, ALIGNMENT = 64, PREFIX_SIZE = 10 };

static const uint8_t magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Leaves the reader at the header's text. */
static Error *read_head_size(ByteReader *reader, uint32_t *out_size) {
    const uint8_t *start = NULL;
    if (byte_reader_left(reader) < sizeof magic) FAIL(CORRUPT, "not a npy file");
    TRY(byte_read_view(reader, sizeof magic, &start));
    if (memcmp(start, magic, sizeof magic) != 0) FAIL(CORRUPT, "not a npy file");
    uint8_t major = 0, minor = 0;
    TRY(byte_read_u8(reader, &major));
    TRY(byte_read_u8(reader, &minor));
    if (major < 1 || major > 3 || minor != 0) FAIL(UNSUPPORTED, "npy version %u.%u", major, minor);
    uint16_t short_size = 0;
    uint32_t size = 0;
    if (major == 1) {
        TRY(byte_read_u16(reader, &short_size));
        size = short_size;
    } else
        TRY(byte_read_u32(reader, &size));
    if (size > HEADER_SIZE_MAX) FAIL(CORRUPT, "a header of %u bytes", size);
    *out_size = size;
    return NULL;
}

/* Leaves the reader at the first element. */
static Error *read_header(ByteReader *reader, NpyHeader *out) {
    const uint8_t *text = NULL;
    uint32_t size;
    TRY(read_head_size(reader, &size));
    TRY(byte_read_view(reader, size, &text));
    return npy_header_parse((const char *)text, size, out);
}

static DType dtype_of(const NpyHeader *header) {
    if (header->kind == 'U' || header->kind == 'S') return DTYPE_STRING;
    for (int i = 1; i < DTYPE_COUNT; i++) {
        const char *numpy = dtype_numpy((DType)i);
        if (numpy && numpy[1] == header->kind && (uint32_t)(numpy[2] - '0') == header->item_count)
            return (DType)i;
    }
    return DTYPE_NONE;
}

static void swap_bytes(uint8_t *data, size_t size, size_t word) {
    for (size_t at = 0; at + word <= size; at += word)
        for (size_t i = 0; i < word / 2; i++) {
            uint8_t byte = data[at + i];
            data[at + i] = data[at + word - 1 - i];
            data[at + word - 1 - i] = byte;
        }
}

/* Column-major to row-major: walks the result in order and steps through the source by strides. */
static void transpose(const uint8_t *from, const Shape *shape, size_t item_size, uint8_t *to) {
    size_t strides[SHAPE_RANK_MAX], stride = item_size;
    int64_t index[SHAPE_RANK_MAX] = {0};
    for (uint32_t i = 0; i < shape->rank; i++) {
        strides[i] = stride;
        stride *= (size_t)shape->dims[i];
    }
    size_t offset = 0;
    for (int64_t left = shape_count_unchecked(shape); left > 0; left--) {
        memcpy(to, from + offset, item_size);
        to += item_size;
        for (uint32_t i = shape->rank; i-- > 0;) {
            offset += strides[i];
            if (++index[i] < shape->dims[i]) break;
            offset -= strides[i] * (size_t)shape->dims[i];
            index[i] = 0;
        }
    }
}

/* Writes a UTF-32 code point (host order) as UTF-8. Returns 0 when the code point is no
 * character. */
static size_t put_utf8(uint32_t point, char out[4]) {
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return 0;
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const uint8_t marks[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size; i-- > 1; point >>= 6) out[i] = (char)(0x80 | (point & 0x3f));
    out[0] = (char)(marks[size] | point);
    return size;
}

/* Writes one element as UTF-8 at `to`, which has room. Zeros at the element's end are padding. */
static Error *decode_text(
    const NpyHeader *header, const uint8_t *item, char *to, size_t *out_size) {
    size_t size = 0, length = header->item_count;
    if (header->kind == 'S') {
        while (length > 0 && item[length - 1] == 0) length--;
        if (memchr(item, 0, length) || !text_is_utf8((const char *)item, length))
            FAIL(INVALID, "a string that is not UTF-8 text");
        memcpy(to, item, length);
        size = length;
    } else {
        const uint32_t zero = 0;
        while (length > 0 && memcmp(item + 4 * (length - 1), &zero, 4) == 0) length--;
        for (size_t i = 0; i < length; i++) {
            uint32_t point;
            memcpy(&point, item + 4 * i, 4);
            size_t put = point == 0 ? 0 : put_utf8(point, to + size);
            if (put == 0) FAIL(INVALID, "a string with the code point %#x", point);
            size += put;
        }
    }
    to[size] = 0;
    *out_size = size + 1;
    return NULL;
}

/* items: row-major, host order. */
static Error *decode_texts(const NpyHeader *header, const uint8_t *items, NamedArray *array) {
    size_t count = (size_t)shape_count_unchecked(&header->shape);
    size_t item_size = npy_header_item_size(header);
    /* a code point of 4 bytes takes at most 4 in UTF-8, a byte of an S element takes one; one more
     * for the end */
    void *block = NULL;
    TRY(memory_alloc(count, sizeof(char *) + item_size + 1, &block));
    array->texts = block;
    char *to = (char *)(array->texts + count);
    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        TRY_WRAP(decode_text(header, items + i * item_size, to, &size), "element %zu", i);
        array->texts[i] = to;
        to += size;
    }
    return NULL;
}

/* Reorders elements from the file's order to row-major, in this machine's byte order. */
static void order_elements(const NpyHeader *header, const uint8_t *from, size_t size, uint8_t *to) {
    if (header->fortran_order && header->shape.rank > 1)
        transpose(from, &header->shape, npy_header_item_size(header), to);
    else if (size > 0)
        memcpy(to, from, size);
    bool is_text = header->kind == 'U' || header->kind == 'S';
    size_t word = header->kind == 'U' ? 4 : is_text ? 1 : header->item_count;
    if (header->big_endian && word > 1) swap_bytes(to, size, word);
}

static Error *read_texts(
    const NpyHeader *header, const uint8_t *elements, size_t size, NamedArray *array) {
    array->shape = header->shape;
    array->dtype = DTYPE_STRING;
    void *ordered = NULL;
    TRY(memory_alloc(size, 1, &ordered));
    order_elements(header, elements, size, ordered);
    Error *error = decode_texts(header, ordered, array);
    memory_free(ordered);
    return error;
}

static Error *read_array(const NpyForm *form, const uint8_t *elements, size_t size,
    const char *name, NamedArray *array) {
    const NpyHeader *header = &form->header;
    DType dtype = form->dtype;
    if (dtype == DTYPE_STRING) {
        TRY(memory_copy_text(name, &array->name));
        return read_texts(header, elements, size, array);
    }
    TRY(named_array_init(array, name, dtype, &header->shape));
    order_elements(header, elements, size, array->data);
    return dtype == DTYPE_BOOL ? array_check_bools(array->data, array->size) : NULL;
}

Error *npy_head_size(const uint8_t *prefix, uint32_t *out_size) {
    ByteReader reader = byte_reader(prefix, NPY_PREFIX_SIZE);
    uint32_t size;
    TRY(read_head_size(&reader, &size));
    *out_size = (uint32_t)reader.position + size;
    return NULL;
}

Error *npy_read_form(const uint8_t *head, size_t head_size, uint64_t file_size, NpyForm *out_form) {
    ByteReader reader = byte_reader(head, head_size);
    NpyForm form = {0};
    TRY(read_header(&reader, &form.header));
    form.head_size = (uint32_t)reader.position;
    form.dtype = dtype_of(&form.header);
    bool fits = checked_mul_u64((uint64_t)shape_count_unchecked(&form.header.shape),
        npy_header_item_size(&form.header), &form.size);
    if (!fits || form.head_size > file_size || form.size != file_size - form.head_size)
        FAIL(CORRUPT, "%llu bytes of elements do not make the shape in the header",
            (unsigned long long)(file_size - reader.position));
    if (form.dtype == DTYPE_NONE)
        FAIL(UNSUPPORTED, "elements of numpy kind %c with %u bytes", form.header.kind,
            form.header.item_count);
    *out_form = form;
    return NULL;
}

bool npy_form_is_plain(const NpyForm *form) {
    return form->dtype != DTYPE_STRING &&
           !(form->header.fortran_order && form->header.shape.rank > 1);
}

Error *npy_order_piece(const NpyForm *form, uint8_t *data, size_t size) {
    if (form->header.big_endian && form->header.item_count > 1)
        swap_bytes(data, size, form->header.item_count);
    return form->dtype == DTYPE_BOOL ? array_check_bools(data, size) : NULL;
}

Error *npy_read(const void *data, size_t size, const char *name, NamedArray *out_array) {
    NpyForm form;
    TRY(npy_read_form(data, size, size, &form));
    NamedArray array = {0};
    Error *error =
        read_array(&form, (const uint8_t *)data + form.head_size, (size_t)form.size, name, &array);
    if (error) {
        named_array_deinit(&array);
        return error;
    }
    *out_array = array;
    return NULL;
}

/* Code points of UTF-8 text. */
static size_t text_length(const char *text) {
    size_t length = 0;
    for (; *text; text++) length += ((uint8_t)*text & 0xc0) != 0x80;
    return length;
}

/* The longest text's length, at least 1: numpy has no strings of length 0. */
size_t npy_text_width(const NamedArray *array) {
    int64_t count = shape_count_unchecked(&array->shape);
    size_t longest = 1;
    for (int64_t i = 0; i < count; i++) {
        size_t length = text_length(array->texts[i]);
        if (length > longest) longest = length;
    }
    return longest;
}

Error *npy_write_header(const NamedArray *array, ByteWriter *out) {
    TextBuilder OWN_TEXT(text) = {0};
    if (array->dtype == DTYPE_STRING)
        text_appendf(&text, "{'descr': '<U%zu'", npy_text_width(array));
    else
        text_appendf(&text, "{'descr': '%s'", dtype_numpy(array_raw_dtype(array->dtype)));
    text_append(&text, ", 'fortran_order': False, 'shape': (");
    for (uint32_t i = 0; i < array->shape.rank; i++)
        text_appendf(&text, i ? " %lld," : "%lld,", (long long)array->shape.dims[i]);
    /* a tuple of one element needs its comma; a longer one ends without */
    if (array->shape.rank > 1) text.size--;
    text_append(&text, "), }");
    TRY(text_builder_check(&text));
    while ((PREFIX_SIZE + text.size + 1) % ALIGNMENT != 0 && !text.failed) text_append(&text, " ");
    text_append(&text, "\n");
    TRY(text_builder_check(&text));
    byte_write_bytes(out, magic, sizeof magic);
    byte_write_u8(out, 1);
    byte_write_u8(out, 0);
    byte_write_u16(out, (uint16_t)text.size);
    byte_write_bytes(out, text_builder_get(&text), text.size);
    return byte_writer_check(out);
}

static void write_text(const char *text, size_t length, ByteWriter *out) {
    const uint8_t *from = (const uint8_t *)text;
    for (size_t i = 0; i < length; i++) {
        uint32_t point = 0;
        if (*from) {
            size_t size = *from < 0x80 ? 1 : *from < 0xe0 ? 2 : *from < 0xf0 ? 3 : 4;
            point = size == 1 ? *from : *from & (0x7fu >> size);
            for (size_t k = 1; k < size; k++) point = point << 6 | (from[k] & 0x3f);
            from += size;
        }
        byte_write_u32(out, point);
    }
}

bool npy_is_written_as_is(const NamedArray *array) {
    return array->dtype != DTYPE_STRING && dtype_bits(array->dtype) >= 8;
}

Error *npy_write_elements(const NamedArray *array, ByteWriter *out) {
    size_t count = (size_t)shape_count_unchecked(&array->shape);
    if (array->dtype == DTYPE_STRING) {
        size_t length = npy_text_width(array);
        for (size_t i = 0; i < count; i++) write_text(array->texts[i], length, out);
    } else if (dtype_bits(array->dtype) < 8) {
        for (size_t i = 0; i < count; i++) {
            uint8_t code;
            dtype_bits_unpack(dtype_bits(array->dtype), array->data, i, 1, &code);
            byte_write_u8(out, code);
        }
    }
    return byte_writer_check(out);
}
