#pragma once
/* The assembler's state and its parts, shared by the files of vm/assembly/. One assembly belongs to
 * one thread. */
#include "base/name_map.h"
#include "vm/assembly/assembly_tokens.h"
#include "vm/code/executable_builder.h"

typedef struct AssemblyBody {
    uint32_t function;
    uint32_t parameter_count;
    uint32_t line; /* of the token at the body's start */
    const char *text;
    int64_t register_count; /* -1: as many as the code uses */
    bool last_uses;         /* last uses are marked by the assembler */
} AssemblyBody;

typedef struct Assembly {
    ExecutableBuilder *builder;
    Tokens tokens;
    NameMap *constants, *primitives, *functions; /* name -> index + 1 */
    uint32_t constant_count, primitive_count;
    AssemblyBody *bodies;
    size_t body_count, body_capacity;
} Assembly;

typedef struct AssemblyPorts {
    Port *ports; /* NULL: only the number of ports is known */
    uint32_t count;
} AssemblyPorts;

void assembly_ports_deinit(AssemblyPorts *ports);
/* Reads (name: dtype[dims] slot N, ...): assembly_ports.c. *out starts empty. */
MUST_CHECK Error *assembly_read_ports(Tokens *tokens, AssemblyPorts *out);
/* Reads the same, or (N). */
MUST_CHECK Error *assembly_read_parameters(Tokens *tokens, AssemblyPorts *out);
/* Reads one definition's value: assembly_constant.c. */
MUST_CHECK Error *assembly_read_constant(Tokens *tokens, Value *out);
/* Reads "[2, 3]". */
MUST_CHECK Error *assembly_read_shape(Tokens *tokens, Shape *out);
/* Reads the code of one function: assembly_code.c. */
MUST_CHECK Error *assembly_read_code(Assembly *assembly, const AssemblyBody *body);

static inline void *assembly_index_to_pointer(uint32_t index) {
    return (void *)((uintptr_t)index + 1);
}
/* False if the map has no such name. */
static inline bool assembly_find(const NameMap *map, const char *name, uint32_t *out_index) {
    void *pointer = name_map_find(map, name);
    if (pointer) *out_index = (uint32_t)((uintptr_t)pointer - 1);
    return pointer;
}
