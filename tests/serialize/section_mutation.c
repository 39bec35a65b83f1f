#include "tests/serialize/section_mutation.h"

#include "base/allocator.h"

static Error *nothing_put(void *self, const ChunkRef *ref, const void *stored, size_t size) {
    (void)self;
    (void)ref;
    (void)stored;
    FAIL(INTERNAL, "%zu bytes put", size);
}

static Error *all_found(void *self, const ChunkRef *refs, size_t count, bool *out_found) {
    (void)self;
    (void)refs;
    memset(out_found, true, count);
    return NULL;
}

Container *section_replace(const Container *from, SectionNumber number, const void *data,
    size_t size, ChunkSource source) {
    OWN(ContainerWriter, writer) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    Digest identity;
    Container *made;
    ContainerKind kind = container_get_kind(from);
    assert_ok(
        container_writer_create(kind, NULL, (ChunkSink){all_found, nothing_put, NULL}, &writer));
    for (uint32_t i = 0; i < container_bulk_count(from); i++) {
        ContainerBulk bulk;
        uint32_t index;
        assert_ok(container_get_bulk(from, i, &bulk));
        assert_ok(
            container_writer_add_bulk_refs(writer, bulk.refs, bulk.size, bulk.chunk_size, &index));
    }
    for (size_t i = 0; i < container_section_count(from); i++) {
        ContainerSection section = container_get_section_info(from, i);
        ByteReader reader;
        if (section.number == SECTION_BULK) continue;
        assert_ok(container_get_section(from, (SectionNumber)section.number, &reader));
        bool replaced = section.number == (uint32_t)number;
        assert_ok(container_writer_add_section(writer, (SectionNumber)section.number,
            replaced ? data : reader.data, replaced ? size : reader.size));
    }
    assert_ok(container_writer_finish(writer, &manifest, &identity));
    assert_ok(container_open_manifest(kind, manifest.data, manifest.size, source, &made));
    return made;
}

void section_mutate(const Container *from, SectionNumber number, ChunkSource source,
    SectionVisit *visit, void *context) {
    ByteReader reader;
    ByteWriter OWN_BYTES(bytes) = {0};
    assert_ok(container_get_section(from, number, &reader));
    byte_write_bytes(&bytes, reader.data, reader.size);
    for (size_t i = 0; i < bytes.size; i++) {
        static const uint8_t changes[] = {0x01, 0x80, 0xff};
        for (size_t k = 0; k < sizeof changes; k++) {
            bytes.data[i] ^= changes[k];
            OWN(Container, mutated) = section_replace(from, number, bytes.data, bytes.size, source);
            visit(mutated, context);
            bytes.data[i] ^= changes[k];
        }
        OWN(Container, cut) = section_replace(from, number, bytes.data, i, source);
        visit(cut, context);
    }
}
