#include "serialize/arrays/zip_write.h"

#include <string.h>

#include "base/allocator.h"
#include "base/text.h"
#include "serialize/arrays/zip_internal.h"

void zip_entries_deinit(ZipEntries *entries) {
    for (size_t i = 0; i < entries->count; i++) memory_free(entries->items[i].file_name);
    memory_free(entries->items);
    name_map_release(entries->names);
    entries->items = NULL;
    entries->names = NULL;
    entries->count = entries->capacity = 0;
}

static Error *note_name(ZipEntries *entries, const char *name) {
    if (!entries->names) TRY(name_map_create(&entries->names));
    if (name_map_find(entries->names, name)) FAIL(INVALID, "two arrays are named %s", name);
    return name_map_set(entries->names, name, entries);
}

Error *zip_entries_add(
    ZipEntries *entries, const char *name, uint64_t offset, ZipEntry **out_entry) {
    void *items = entries->items;
    TRY(memory_grow(&items, entries->count, &entries->capacity, sizeof *entries->items));
    entries->items = items;
    TextBuilder OWN_TEXT(file_name) = {0};
    text_append(&file_name, name);
    text_append(&file_name, ".npy");
    TRY(text_builder_check(&file_name));
    if (file_name.size > UINT16_MAX) FAIL(INVALID, "an array's name of %zu bytes", strlen(name));
    TRY(note_name(entries, name));
    ZipEntry *entry = &entries->items[entries->count];
    *entry = (ZipEntry){.offset = offset};
    TRY(text_builder_take(&file_name, &entry->file_name));
    entries->count++;
    *out_entry = entry;
    return NULL;
}

/* Writes a field of 4 bytes, or the mark that the number stands in the extra field. */
static void write_u32_field(ByteWriter *out, uint64_t value, bool zip64) {
    byte_write_u32(out, zip64 ? UINT32_MAX : (uint32_t)value);
}

/* Writes the fields that local and central headers share, from the version needed to the sizes. */
static void write_common(
    ByteWriter *out, const ZipEntry *entry, bool zip64, bool described, uint32_t crc32) {
    bool is_ascii = true;
    for (const char *c = entry->file_name; *c; c++) is_ascii = is_ascii && (uint8_t)*c < 0x80;
    int flags = (is_ascii ? 0 : ZIP_FLAG_UTF8) | (described ? ZIP_FLAG_DESCRIBED : 0);
    byte_write_u16(out, zip64 ? ZIP64_VERSION : ZIP_VERSION);
    byte_write_u16(out, (uint16_t)flags);
    byte_write_u16(out, 0); /* stored */
    byte_write_u32(out, ZIP_DATE_1980);
    byte_write_u32(out, crc32);
    write_u32_field(out, entry->size, zip64);
    write_u32_field(out, entry->size, zip64);
    byte_write_u16(out, (uint16_t)strlen(entry->file_name));
}

Error *zip_write_local(const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out) {
    bool zip64 = entry->size >= entries->zip64_from;
    byte_write_u32(out, ZIP_LOCAL_SIGNATURE);
    write_common(out, entry, zip64, entries->described, entries->described ? 0 : entry->crc32);
    byte_write_u16(out, zip64 ? 20 : 0);
    byte_write_bytes(out, entry->file_name, strlen(entry->file_name));
    if (zip64) {
        byte_write_u16(out, ZIP64_EXTRA_KIND);
        byte_write_u16(out, 16);
        byte_write_u64(out, entry->size);
        byte_write_u64(out, entry->size);
    }
    return byte_writer_check(out);
}

Error *zip_write_descriptor(const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out) {
    bool zip64 = entry->size >= entries->zip64_from;
    byte_write_u32(out, ZIP_DESCRIPTOR_SIGNATURE);
    byte_write_u32(out, entry->crc32);
    for (int i = 0; i < 2; i++) {
        if (zip64)
            byte_write_u64(out, entry->size);
        else
            byte_write_u32(out, (uint32_t)entry->size);
    }
    return byte_writer_check(out);
}

static void write_central(const ZipEntries *entries, const ZipEntry *entry, ByteWriter *out) {
    bool size64 = entry->size >= entries->zip64_from;
    bool offset64 = entry->offset >= entries->zip64_from;
    uint16_t extra_size = (uint16_t)(size64 * 16 + offset64 * 8);
    byte_write_u32(out, ZIP_CENTRAL_SIGNATURE);
    /* made by: version, and MS-DOS attributes, of which none is set */
    byte_write_u16(out, ZIP64_VERSION);
    write_common(out, entry, size64, entries->described, entry->crc32);
    byte_write_u16(out, extra_size ? (uint16_t)(extra_size + 4) : 0);
    byte_write_u16(out, 0); /* comment */
    byte_write_u16(out, 0); /* disk */
    byte_write_u16(out, 0); /* internal attributes */
    byte_write_u32(out, 0); /* external attributes */
    write_u32_field(out, entry->offset, offset64);
    byte_write_bytes(out, entry->file_name, strlen(entry->file_name));
    if (!extra_size) return;
    byte_write_u16(out, ZIP64_EXTRA_KIND);
    byte_write_u16(out, extra_size);
    if (size64) {
        byte_write_u64(out, entry->size);
        byte_write_u64(out, entry->size);
    }
    if (offset64) byte_write_u64(out, entry->offset);
}

static void write_end64(uint64_t count, uint64_t size, uint64_t offset, ByteWriter *out) {
    byte_write_u32(out, ZIP64_END_SIGNATURE);
    byte_write_u64(out, ZIP64_END_SIZE - 12);
    byte_write_u16(out, ZIP64_VERSION);
    byte_write_u16(out, ZIP64_VERSION);
    byte_write_u64(out, 0); /* both disks */
    byte_write_u64(out, count);
    byte_write_u64(out, count);
    byte_write_u64(out, size);
    byte_write_u64(out, offset);
    byte_write_u32(out, ZIP64_LOCATOR_SIGNATURE);
    byte_write_u32(out, 0);
    byte_write_u64(out, offset + size);
    byte_write_u32(out, 1);
}

Error *zip_write_directory(const ZipEntries *entries, uint64_t offset, ByteWriter *out) {
    size_t start = out->size;
    for (size_t i = 0; i < entries->count; i++) write_central(entries, &entries->items[i], out);
    TRY(byte_writer_check(out));
    uint64_t size = out->size - start, from = entries->zip64_from;
    bool zip64 = entries->count >= UINT16_MAX || offset >= from || size >= from;
    if (zip64) write_end64(entries->count, size, offset, out);
    uint16_t count = zip64 ? UINT16_MAX : (uint16_t)entries->count;
    byte_write_u32(out, ZIP_END_SIGNATURE);
    byte_write_u32(out, 0); /* both disks */
    byte_write_u16(out, count);
    byte_write_u16(out, count);
    write_u32_field(out, size, zip64);
    write_u32_field(out, offset, zip64);
    byte_write_u16(out, 0); /* comment */
    return byte_writer_check(out);
}
