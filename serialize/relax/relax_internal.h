#pragma once
/* What the files of serialize/relax/ share. Threads: as relax_file.h. */
#include "serialize/relax/relax_file.h"

#define RELAX_MAGIC_1 UINT64_C(0xD225DE2F4214151D)
#define RELAX_MAGIC_2 UINT64_C(0xD225DE2F4214151E)
#define RELAX_VERSION "0.14"
#define RELAX_TENSOR_MAGIC UINT64_C(0xDD5E40F096B4A13F)

enum {
    RELAX_DEVICE_CPU = 1,
    RELAX_ARGUMENTS_UNDECLARED = -2,
    RELAX_TENSOR_RANK_MAX = 64,
};

/* The number that stands before a constant in files of a generation. */
int32_t relax_constant_tag(RelaxGeneration generation, RelaxConstantKind kind);
/* Checks what the parser cannot see on its own: names, ranges of functions, every instruction.
 * Errors: CORRUPT, naming function and instruction. */
MUST_CHECK Error *relax_verify(const RelaxFile *file);
