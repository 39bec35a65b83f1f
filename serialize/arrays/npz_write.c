#include <string.h>
#include <zlib.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/text.h"
#include "base/thread.h"
#include "serialize/arrays/npy.h"
#include "serialize/arrays/npz.h"
#include "serialize/arrays/zip_write.h"

struct NpzWriter {
    FileOutput *output;
    uint64_t start; /* the output's size when writing began */
    ZipEntries entries;
};

Error *npz_writer_create(FileOutput *output, NpzWriter **out) {
    void *memory = NULL;
    TRY(memory_alloc(1, sizeof(NpzWriter), &memory));
    NpzWriter *writer = memory;
    writer->output = output;
    writer->start = file_output_size(output);
    writer->entries.zip64_from = UINT32_MAX;
    *out = writer;
    return NULL;
}

void npz_writer_release(NpzWriter *writer) {
    if (!writer) return;
    zip_entries_deinit(&writer->entries);
    memory_free(writer);
}

void npz_writer_set_zip64_from(NpzWriter *writer, uint64_t bytes) {
    writer->entries.zip64_from = bytes;
}

static Error *write_local(const NpzWriter *writer, const ZipEntry *member) {
    ByteWriter OWN_BYTES(header) = {0};
    TRY(zip_write_local(&writer->entries, member, &header));
    return file_output_write_at(
        writer->output, writer->start + member->offset, header.data, header.size);
}

/* From so many bytes on, a thread computes the checksum during the write; the checksum takes twice
 * as long as the write. */
enum { SUMMED_ASIDE_BYTES = 1 << 20 };

typedef struct Content {
    const ByteWriter *header; /* the array's */
    const uint8_t *data;
    size_t size;
    uLong crc;
} Content;

static void *add_up(void *argument) {
    Content *content = argument;
    content->crc = crc32_z(0, content->header->data, content->header->size);
    if (content->size > 0) content->crc = crc32_z(content->crc, content->data, content->size);
    return NULL;
}

static Error *write_bytes(NpzWriter *writer, const Content *content) {
    TRY(file_output_write(writer->output, content->header->data, content->header->size));
    if (content->size == 0) return NULL;
    return file_output_write(writer->output, content->data, content->size);
}

/* The local header is written again when the checksum is known. */
static Error *write_large(NpzWriter *writer, Content *content, ZipEntry *member) {
    pthread_t thread;
    TRY(write_local(writer, member));
    const bool aside = thread_start(&thread, "checksum", add_up, content);
    Error *error = write_bytes(writer, content);
    if (aside)
        (void)pthread_join(thread, NULL);
    else
        (void)add_up(content);
    member->crc32 = (uint32_t)content->crc;
    return error ? error : write_local(writer, member);
}

static Error *write_content(NpzWriter *writer, const NamedArray *array, ZipEntry *member) {
    ByteWriter OWN_BYTES(header) = {0}, OWN_BYTES(converted) = {0};
    TRY(npy_write_header(array, &header));
    TRY(npy_write_elements(array, &converted));
    bool as_is = npy_is_written_as_is(array);
    Content content = {.header = &header,
        .data = as_is ? array->data : converted.data,
        .size = as_is ? (size_t)array->size : converted.size};
    member->size = header.size + content.size;
    if (content.size >= SUMMED_ASIDE_BYTES) return write_large(writer, &content, member);
    (void)add_up(&content);
    member->crc32 = (uint32_t)content.crc;
    TRY(write_local(writer, member));
    return write_bytes(writer, &content);
}

static Error *add_one(NpzWriter *writer, const NamedArray *array) {
    ZipEntry *member;
    TRY(zip_entries_add(
        &writer->entries, array->name, file_output_size(writer->output) - writer->start, &member));
    return write_content(writer, array, member);
}

Error *npz_writer_add(NpzWriter *writer, const NamedArray *array) {
    TRY_WRAP(add_one(writer, array), "array %s", array->name);
    if (array_raw_dtype(array->dtype) == array->dtype) return NULL;
    TextBuilder OWN_TEXT(name) = {0};
    text_append(&name, array->name);
    text_append(&name, ".dtype");
    TRY(text_builder_check(&name));
    const char *text = dtype_name(array->dtype);
    NamedArray description = {0};
    const Shape scalar = {0};
    TRY(named_array_init_texts(&description, text_builder_get(&name), &scalar, &text));
    Error *error = add_one(writer, &description);
    named_array_deinit(&description);
    return error_wrap(error, "array %s", text_builder_get(&name));
}

Error *npz_writer_finish(NpzWriter *writer) {
    ByteWriter OWN_BYTES(end) = {0};
    uint64_t offset = file_output_size(writer->output) - writer->start;
    TRY(zip_write_directory(&writer->entries, offset, &end));
    return file_output_write(writer->output, end.data, end.size);
}
