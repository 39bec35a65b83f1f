#include <string.h>

#include "serialize/container/executable_file.h"
#include "serialize/container/value_bytes.h"
#include "vm/objects/shape_object.h"
#include "vm/objects/string_object.h"

static void write_port(ByteWriter *writer, const Port *port) {
    byte_write_text(writer, port->name);
    byte_write_u8(writer, (uint8_t)port->dtype);
    byte_write_u8(writer, port->slot);
    byte_write_u8(writer, (uint8_t)(port->rank_known | (unsigned)port->form << 1));
    if (!port->rank_known) return;
    value_bytes_write_shape(writer, &port->shape);
    for (uint32_t i = 0; i < port->shape.rank; i++)
        byte_write_text(writer, port->symbols[i] ? port->symbols[i] : "");
}

static void write_ports(ByteWriter *writer, const Port *ports, uint32_t count) {
    byte_write_u8(writer, ports != NULL);
    byte_write_u32(writer, count);
    for (uint32_t i = 0; ports && i < count; i++) write_port(writer, &ports[i]);
}

static void write_globals(const Executable *executable, ByteWriter *writer) {
    byte_write_u32(writer, executable->function_count);
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        byte_write_text(writer, function->name);
        byte_write_u8(writer, (uint8_t)function->kind);
        byte_write_u32(writer, function->flags);
        byte_write_u32(writer, function->register_count);
        byte_write_u32(writer, function->word_count);
        write_ports(writer, function->parameters, function->parameter_count);
        write_ports(writer, function->results, function->result_count);
    }
}

static Error *write_tensor(const Tensor *tensor, ByteWriter *writer, ContainerWriter *container) {
    uint64_t bytes = tensor_bytes(tensor);
    byte_write_u8(writer, (uint8_t)tensor->dtype);
    value_bytes_write_shape(writer, &tensor->shape);
    if (tensor->dtype == DTYPE_STRING) byte_write_u64(writer, bytes);
    if (bytes <= EXECUTABLE_INLINE_SIZE || tensor->dtype == DTYPE_STRING) {
        byte_write_bytes(writer, tensor_data(tensor), (size_t)bytes);
        return NULL;
    }
    uint32_t bulk;
    TRY(container_writer_add_bulk_later(
        container, tensor_data(tensor), bytes, value_bytes_filter(tensor->dtype), &bulk));
    byte_write_u32(writer, bulk);
    return NULL;
}

static Error *write_constant(
    const Constant *constant, ByteWriter *writer, ContainerWriter *container) {
    const Value *value = &constant->value;
    byte_write_u8(writer, constant->slot);
    value_bytes_write_scalar(writer, value);
    if (value->tag != VALUE_OBJECT) return NULL;
    byte_write_u8(writer, value->kind);
    if (value->kind == OBJECT_TENSOR) return write_tensor(value->tensor, writer, container);
    if (value->kind == OBJECT_SHAPE)
        value_bytes_write_shape_object(writer, value->shape);
    else
        byte_write_text(writer, value->string->text);
    return NULL;
}

static Error *write_constants(
    const Executable *executable, ByteWriter *writer, ContainerWriter *container) {
    byte_write_u32(writer, executable->constant_count);
    for (uint32_t i = 0; i < executable->constant_count; i++)
        TRY_WRAP(write_constant(&executable->constants[i], writer, container), "constant %u", i);
    return NULL;
}

static void write_primitives(const Executable *executable, ByteWriter *writer) {
    byte_write_u32(writer, executable->primitive_count);
    for (uint32_t i = 0; i < executable->primitive_count; i++) {
        const Primitive *primitive = &executable->primitives[i];
        byte_write_text(writer, primitive->operator_info->name);
        byte_write_u32(writer, primitive->operator_info->version);
        attributes_write(primitive->attributes, writer);
    }
}

static void write_code(const Executable *executable, ByteWriter *writer) {
    for (uint32_t i = 0; i < executable->function_count; i++) {
        const Function *function = &executable->functions[i];
        for (uint32_t word = 0; word < function->word_count; word++)
            byte_write_u64(writer, executable->code[function->first_word + word]);
    }
}

static Error *write_library(const Executable *executable, ContainerWriter *container) {
    ByteWriter OWN_BYTES(bytes) = {0};
    Digest digest;
    if (executable->native_library == EXECUTABLE_NO_LIBRARY) return NULL;
    TRY(executable_get_native_digest(executable, &digest));
    byte_write_u32(&bytes, executable->native_library);
    byte_write_bytes(&bytes, &digest, sizeof digest);
    return container_writer_add_written(container, SECTION_LIBRARY, &bytes);
}

Error *executable_write(
    Executable *executable, WorkerPool *pool, ChunkSink sink, ByteWriter *out_manifest) {
    OWN(ContainerWriter, container) = NULL;
    ByteWriter OWN_BYTES(globals) = {0};
    ByteWriter OWN_BYTES(constants) = {0};
    ByteWriter OWN_BYTES(primitives) = {0};
    ByteWriter OWN_BYTES(code) = {0};
    if (executable->outline) FAIL(INVALID, "an outline's constants cannot be written");
    TRY(container_writer_create(CONTAINER_EXECUTABLE, pool, sink, &container));
    write_globals(executable, &globals);
    TRY(write_constants(executable, &constants, container));
    write_primitives(executable, &primitives);
    write_code(executable, &code);
    TRY(container_writer_add_written(container, SECTION_GLOBALS, &globals));
    TRY(container_writer_add_written(container, SECTION_CONSTANTS, &constants));
    TRY(container_writer_add_written(container, SECTION_PRIMITIVES, &primitives));
    TRY(container_writer_add_written(container, SECTION_CODE, &code));
    if (executable->source)
        TRY(container_writer_add_section(
            container, SECTION_SOURCE, executable->source, executable->source_size));
    TRY(write_library(executable, container));
    return container_writer_finish(container, out_manifest, &executable->identity);
}

/* Hashes the chunks without encoding them. */
Error *executable_identify(Executable *executable, WorkerPool *pool) {
    ByteWriter OWN_BYTES(manifest) = {0};
    return executable_write(executable, pool, chunk_sink_full(), &manifest);
}

Error *executable_write_file(Executable *executable, WorkerPool *pool, const char *path) {
    OWN(FileOutput, output) = NULL;
    OWN(ContainerFile, file) = NULL;
    ByteWriter OWN_BYTES(manifest) = {0};
    TRY(file_output_create(path, &output));
    TRY(container_file_create(output, NULL, &file));
    TRY(executable_write(executable, pool, container_file_get_sink(file), &manifest));
    TRY(container_file_finish(file, manifest.data, manifest.size));
    return file_output_commit(output);
}
