#include "serialize/arrays/npz_pieces.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/text.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/zip_write.h"

enum { CODE_POINT_SIZE = 4 };

struct NpzPieces {
    ZipEntries entries;
    uint64_t written;
    uint64_t left; /* bytes of the member still to come */
    uLong crc;
};

Error *npz_pieces_create(NpzPieces **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NpzPieces), &memory));
    NpzPieces *stream = memory;
    stream->entries = (ZipEntries){.zip64_from = UINT32_MAX, .described = true};
    *out = stream;
    return NULL;
}

void npz_pieces_release(NpzPieces *stream) {
    if (!stream) return;
    zip_entries_deinit(&stream->entries);
    memory_free(stream);
}

static Error *measure_texts(const NamedArray *form, int64_t count, uint64_t *out_bytes) {
    uint64_t width = npy_text_width(form);
    if (!checked_mul_u64(width * CODE_POINT_SIZE, (uint64_t)count, out_bytes))
        FAIL(EXHAUSTED, "%lld strings of up to %llu letters are too large for one .npy",
            (long long)count, (unsigned long long)width);
    return NULL;
}

Error *npz_pieces_measure(const NamedArray *form, uint64_t *out_bytes) {
    int64_t count;
    TRY(shape_count(&form->shape, &count));
    if (form->dtype == DTYPE_STRING) return measure_texts(form, count, out_bytes);
    if (dtype_bits(form->dtype) >= 8) return shape_bytes(&form->shape, form->dtype, out_bytes);
    *out_bytes = (uint64_t)count; /* each in a byte */
    return NULL;
}

Error *npz_pieces_describe(const NamedArray *form, bool *out_has_form, NamedArray *out_form) {
    TextBuilder OWN_TEXT(name) = {0};
    const Shape scalar = {0};
    const char *text = dtype_name(form->dtype);
    *out_has_form = array_raw_dtype(form->dtype) != form->dtype;
    if (!*out_has_form) return NULL;
    text_append(&name, form->name);
    text_append(&name, ".dtype");
    TRY(text_builder_check(&name));
    return named_array_init_texts(out_form, text_builder_get(&name), &scalar, &text);
}

static Error *begin(NpzPieces *stream, const NamedArray *form, ByteWriter *out) {
    ByteWriter OWN_BYTES(header) = {0};
    ZipEntry *entry;
    uint64_t size;
    TRY(npz_pieces_measure(form, &size));
    TRY(npy_write_header(form, &header));
    TRY(zip_entries_add(&stream->entries, form->name, stream->written, &entry));
    entry->size = header.size + size;
    TRY(zip_write_local(&stream->entries, entry, out));
    byte_write_bytes(out, header.data, header.size);
    stream->crc = crc32_z(0, header.data, header.size);
    stream->left = size;
    return byte_writer_check(out);
}

Error *npz_pieces_begin(NpzPieces *stream, const NamedArray *form, ByteWriter *out) {
    size_t before = out->size;
    TRY_WRAP(begin(stream, form, out), "array %s", form->name);
    stream->written += out->size - before;
    return NULL;
}

Error *npz_pieces_add(NpzPieces *stream, const NamedArray *elements, ByteWriter *out) {
    size_t before = out->size;
    if (npy_is_written_as_is(elements))
        byte_write_bytes(out, elements->data, (size_t)elements->size);
    else
        TRY(npy_write_elements(elements, out));
    TRY(byte_writer_check(out));
    size_t size = out->size - before;
    if (size > stream->left) FAIL(INTERNAL, "array %s: more data than it has", elements->name);
    if (size > 0) stream->crc = crc32_z(stream->crc, out->data + before, size);
    stream->left -= size;
    stream->written += size;
    return NULL;
}

Error *npz_pieces_end(NpzPieces *stream, ByteWriter *out) {
    size_t before = out->size;
    ZipEntry *entry = &stream->entries.items[stream->entries.count - 1];
    if (stream->left > 0) FAIL(INTERNAL, "member %s: data is missing", entry->file_name);
    entry->crc32 = (uint32_t)stream->crc;
    TRY(zip_write_descriptor(&stream->entries, entry, out));
    stream->written += out->size - before;
    return NULL;
}

Error *npz_pieces_finish(NpzPieces *stream, ByteWriter *out) {
    return zip_write_directory(&stream->entries, stream->written, out);
}
