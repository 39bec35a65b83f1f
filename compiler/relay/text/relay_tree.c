#include "compiler/relay/text/relay_tree.h"

#include "base/allocator.h"

Error *relay_program_create(RelayProgram **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(RelayProgram), &memory));
    OWN(RelayProgram, program) = memory;
    TRY(name_map_create(&program->globals));
    TRY(name_map_create(&program->datas));
    TRY(name_map_create(&program->constructors));
    *out = TAKE(program);
    return NULL;
}

void relay_program_release(RelayProgram *program) {
    if (!program) return;
    for (size_t i = 0; i < program->tensor_count; i++) tensor_release(program->tensors[i]);
    memory_free(program->tensors);
    memory_free(program->global_list);
    memory_free(program->data_list);
    name_map_release(program->globals);
    name_map_release(program->datas);
    name_map_release(program->constructors);
    arena_deinit(&program->arena);
    memory_free(program);
}

Error *relay_program_keep(RelayProgram *program, Tensor *owned_tensor) {
    void *tensors = program->tensors;
    Error *error =
        memory_grow(&tensors, program->tensor_count, &program->tensor_capacity, sizeof(Tensor *));
    if (error) {
        tensor_release(owned_tensor);
        return error;
    }
    program->tensors = tensors;
    program->tensors[program->tensor_count++] = owned_tensor;
    return NULL;
}

Error *relay_new(RelayProgram *program, size_t count, size_t size, void *out_pointer) {
    void *memory;
    TRY(arena_alloc(&program->arena, count, size, &memory));
    *(void **)out_pointer = memory;
    return NULL;
}
