#include "serialize/relax/relax_internal.h"

static void write_text(ByteWriter *writer, RelaxText text) {
    byte_write_u64(writer, text.size);
    byte_write_bytes(writer, text.data, text.size);
}

static void write_function(ByteWriter *writer, const RelaxGlobal *function) {
    byte_write_u32(writer, (uint32_t)function->kind);
    write_text(writer, function->name);
    byte_write_i64(writer, function->start);
    byte_write_i64(writer, function->end);
    byte_write_i64(writer, function->argument_count);
    byte_write_i64(writer, function->register_count);
    byte_write_u64(writer, function->parameter_name_count);
    for (uint64_t i = 0; i < function->parameter_name_count; i++)
        write_text(writer, function->parameter_names[i]);
}

static void write_dtype(ByteWriter *writer, RelaxDType dtype) {
    byte_write_u8(writer, dtype.code);
    byte_write_u8(writer, dtype.bits);
    byte_write_u16(writer, dtype.lanes);
}

static void write_tensor(ByteWriter *writer, const RelaxTensor *tensor, bool outline) {
    byte_write_u64(writer, RELAX_TENSOR_MAGIC);
    byte_write_u64(writer, tensor->reserved);
    byte_write_u32(writer, RELAX_DEVICE_CPU);
    byte_write_u32(writer, 0);
    byte_write_u32(writer, tensor->rank);
    write_dtype(writer, tensor->dtype);
    byte_write_bytes(writer, tensor->shape, (size_t)tensor->rank * 8);
    byte_write_u64(writer, tensor->size);
    if (!outline) byte_write_bytes(writer, tensor->data, (size_t)tensor->size);
}

static void write_constant(
    ByteWriter *writer, RelaxGeneration generation, const RelaxConstant *constant, bool outline) {
    byte_write_u32(writer, (uint32_t)relax_constant_tag(generation, constant->kind));
    switch (constant->kind) {
    case RELAX_TENSOR:
        write_tensor(writer, &constant->tensor, outline);
        return;
    case RELAX_SHAPE:
        byte_write_u64(writer, constant->shape.rank);
        byte_write_bytes(writer, constant->shape.dims, (size_t)constant->shape.rank * 8);
        return;
    case RELAX_STRING:
        write_text(writer, constant->string);
        return;
    case RELAX_INT:
        byte_write_i64(writer, constant->integer);
        return;
    case RELAX_FLOAT:
        byte_write_f64(writer, constant->real);
        return;
    case RELAX_DTYPE:
        write_dtype(writer, constant->dtype);
        return;
    case RELAX_CONSTANT_KIND_COUNT:
        return;
    }
}

static void write_words(ByteWriter *writer, const uint8_t *words, uint64_t count) {
    byte_write_u64(writer, count);
    byte_write_bytes(writer, words, (size_t)count * 8);
}

Error *relax_file_write(const RelaxFile *file, bool outline, ByteWriter *writer) {
    const bool newer = file->generation == RELAX_TVM_0_23;
    const RelaxText version = {RELAX_VERSION, strlen(RELAX_VERSION)};
    for (uint64_t i = 0; !outline && i < file->constant_count; i++) {
        const RelaxConstant *constant = &file->constants[i];
        if (constant->kind == RELAX_TENSOR && constant->tensor.size && !constant->tensor.data)
            FAIL(INTERNAL, "an outline has no bytes of constants to write");
    }
    if (file->length_first) byte_write_u64(writer, file->length);
    byte_write_u64(writer, newer ? RELAX_MAGIC_2 : RELAX_MAGIC_1);
    write_text(writer, version);
    byte_write_u64(writer, file->function_count);
    for (uint64_t i = 0; i < file->function_count; i++) write_function(writer, &file->functions[i]);
    if (newer) byte_write_u64(writer, file->scope_count);
    for (uint64_t i = 0; i < file->scope_count; i++) {
        byte_write_i64(writer, file->scopes[i].constant);
        write_text(writer, file->scopes[i].scope);
    }
    byte_write_u64(writer, file->constant_count);
    for (uint64_t i = 0; i < file->constant_count; i++)
        write_constant(writer, file->generation, &file->constants[i], outline);
    write_words(writer, file->offsets, file->instruction_count);
    write_words(writer, file->words, file->word_count);
    byte_write_bytes(writer, file->trailing, file->trailing_size);
    return byte_writer_check(writer);
}
