#include <string.h>
#include <zlib.h>

#include "base/allocator.h"
#include "base/bytes.h"
#include "base/text.h"
#include "base/thread.h"
#include "serialize/npy.h"
#include "serialize/npz.h"
#include "serialize/zip_internal.h"

typedef struct WrittenMember {
    char *file_name; /* NAME.npy */
    uint32_t crc32;
    uint64_t size;
    uint64_t offset;
} WrittenMember;

struct NpzWriter {
    FileOutput *output;
    uint64_t start; /* the output's size when writing began */
    uint64_t zip64_from;
    WrittenMember *members;
    size_t count;
    size_t capacity;
};

Error *npz_writer_create(FileOutput *output, NpzWriter **out) {
    void *memory = NULL;
    TRY(memory_alloc(1, sizeof(NpzWriter), &memory));
    NpzWriter *writer = memory;
    writer->output = output;
    writer->start = file_output_size(output);
    writer->zip64_from = UINT32_MAX;
    *out = writer;
    return NULL;
}

void npz_writer_release(NpzWriter *writer) {
    if (!writer) return;
    for (size_t i = 0; i < writer->count; i++) memory_free(writer->members[i].file_name);
    memory_free(writer->members);
    memory_free(writer);
}

void npz_writer_set_zip64_from(NpzWriter *writer, uint64_t bytes) { writer->zip64_from = bytes; }

/* The field of 4 bytes, or the mark that it stands in the extra field. */
static void write_u32_field(ByteWriter *out, uint64_t value, bool zip64) {
    byte_write_u32(out, zip64 ? UINT32_MAX : (uint32_t)value);
}

/* What local and central headers have in common, from the version needed to the sizes. */
static void write_common(ByteWriter *out, const WrittenMember *member, bool zip64) {
    bool is_ascii = true;
    for (const char *c = member->file_name; *c; c++) is_ascii = is_ascii && (uint8_t)*c < 0x80;
    byte_write_u16(out, zip64 ? ZIP64_VERSION : ZIP_VERSION);
    byte_write_u16(out, is_ascii ? 0 : ZIP_FLAG_UTF8);
    byte_write_u16(out, 0); /* stored */
    byte_write_u32(out, ZIP_DATE_1980);
    byte_write_u32(out, member->crc32);
    write_u32_field(out, member->size, zip64);
    write_u32_field(out, member->size, zip64);
    byte_write_u16(out, (uint16_t)strlen(member->file_name));
}

/* Of the same length each time. */
static Error *write_local(const NpzWriter *writer, const WrittenMember *member) {
    bool zip64 = member->size >= writer->zip64_from;
    ByteWriter OWN_BYTES(header) = {0};
    byte_write_u32(&header, ZIP_LOCAL_SIGNATURE);
    write_common(&header, member, zip64);
    byte_write_u16(&header, zip64 ? 20 : 0);
    byte_write_bytes(&header, member->file_name, strlen(member->file_name));
    if (zip64) {
        byte_write_u16(&header, ZIP64_EXTRA_KIND);
        byte_write_u16(&header, 16);
        byte_write_u64(&header, member->size);
        byte_write_u64(&header, member->size);
    }
    TRY(byte_writer_check(&header));
    return file_output_write_at(
        writer->output, writer->start + member->offset, header.data, header.size);
}

static void write_central(const NpzWriter *writer, const WrittenMember *member, ByteWriter *out) {
    bool size64 = member->size >= writer->zip64_from;
    bool offset64 = member->offset >= writer->zip64_from;
    uint16_t extra_size = (uint16_t)(size64 * 16 + offset64 * 8);
    byte_write_u32(out, ZIP_CENTRAL_SIGNATURE);
    byte_write_u16(out, ZIP64_VERSION); /* made by: MS-DOS attributes, none set */
    write_common(out, member, size64);
    byte_write_u16(out, extra_size ? (uint16_t)(extra_size + 4) : 0);
    byte_write_u16(out, 0); /* comment */
    byte_write_u16(out, 0); /* disk */
    byte_write_u16(out, 0); /* internal attributes */
    byte_write_u32(out, 0); /* external attributes */
    write_u32_field(out, member->offset, offset64);
    byte_write_bytes(out, member->file_name, strlen(member->file_name));
    if (!extra_size) return;
    byte_write_u16(out, ZIP64_EXTRA_KIND);
    byte_write_u16(out, extra_size);
    if (size64) {
        byte_write_u64(out, member->size);
        byte_write_u64(out, member->size);
    }
    if (offset64) byte_write_u64(out, member->offset);
}

/* Makes room and the name NAME.npy. The member counts only when it is written. */
static Error *begin_member(NpzWriter *writer, const char *name, WrittenMember *out) {
    void *members = writer->members;
    TRY(memory_grow(&members, writer->count, &writer->capacity, sizeof *writer->members));
    writer->members = members;
    TextBuilder OWN_TEXT(file_name) = {0};
    text_append(&file_name, name);
    text_append(&file_name, ".npy");
    TRY(text_builder_check(&file_name));
    if (file_name.size > UINT16_MAX) FAIL(INVALID, "an array's name of %zu bytes", strlen(name));
    for (size_t i = 0; i < writer->count; i++)
        if (strcmp(writer->members[i].file_name, file_name.data) == 0)
            FAIL(INVALID, "two arrays are named %s", name);
    out->offset = file_output_size(writer->output) - writer->start;
    return text_builder_take(&file_name, &out->file_name);
}

/* From these bytes on a thread adds the checksum up while they are written, which takes twice as
 * long. */
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

/* The local header comes once more when the checksum is known. */
static Error *write_large(NpzWriter *writer, Content *content, WrittenMember *member) {
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

static Error *write_content(NpzWriter *writer, const NamedArray *array, WrittenMember *member) {
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
    WrittenMember member = {0};
    TRY(begin_member(writer, array->name, &member));
    Error *error = write_content(writer, array, &member);
    if (error)
        memory_free(member.file_name);
    else
        writer->members[writer->count++] = member;
    return error;
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
    for (size_t i = 0; i < writer->count; i++) write_central(writer, &writer->members[i], &end);
    TRY(byte_writer_check(&end));
    uint64_t size = end.size;
    bool zip64 =
        writer->count >= UINT16_MAX || offset >= writer->zip64_from || size >= writer->zip64_from;
    if (zip64) {
        byte_write_u32(&end, ZIP64_END_SIGNATURE);
        byte_write_u64(&end, ZIP64_END_SIZE - 12);
        byte_write_u16(&end, ZIP64_VERSION);
        byte_write_u16(&end, ZIP64_VERSION);
        byte_write_u64(&end, 0); /* both disks */
        byte_write_u64(&end, writer->count);
        byte_write_u64(&end, writer->count);
        byte_write_u64(&end, size);
        byte_write_u64(&end, offset);
        byte_write_u32(&end, ZIP64_LOCATOR_SIGNATURE);
        byte_write_u32(&end, 0);
        byte_write_u64(&end, offset + size);
        byte_write_u32(&end, 1);
    }
    uint16_t count = zip64 ? UINT16_MAX : (uint16_t)writer->count;
    byte_write_u32(&end, ZIP_END_SIGNATURE);
    byte_write_u32(&end, 0); /* both disks */
    byte_write_u16(&end, count);
    byte_write_u16(&end, count);
    write_u32_field(&end, size, zip64);
    write_u32_field(&end, offset, zip64);
    byte_write_u16(&end, 0); /* comment */
    TRY(byte_writer_check(&end));
    return file_output_write(writer->output, end.data, end.size);
}
