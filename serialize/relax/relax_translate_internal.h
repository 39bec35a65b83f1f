#pragma once
/* What relax_translate.c and its neighbours share. Threads: as relax_translate.h. */
#include "serialize/relax/relax_translate.h"
#include "vm/code/executable_builder.h"

/* What a call of a function of the file becomes. */
typedef enum RelaxCallee {
    RELAX_CALLEE_PACKED,
    RELAX_CALLEE_BYTECODE,
    RELAX_CALLEE_INVOKE_CLOSURE,
    RELAX_CALLEE_MAKE_CLOSURE,
    RELAX_CALLEE_RESET_ITEM,
} RelaxCallee;

typedef struct RelaxTranslation {
    const RelaxFile *file;
    ExecutableBuilder *builder;
    RelaxCallee *callees; /* by function */
    uint32_t *natives;    /* by function: the packed function of a native one */
    uint32_t *places;     /* of the function being translated: the new pc of each instruction */
    const RelaxLibrary *library; /* NULL: none */
    uint32_t vm_constant;        /* the VM register's value; UINT32_MAX: not yet a constant */
} RelaxTranslation;

/* Adds the file's constants, in their order. */
MUST_CHECK Error *relax_translate_constants(RelaxTranslation *translation);
/* Adds the code of a bytecode function, or that which calls a native one. */
MUST_CHECK Error *relax_translate_function(RelaxTranslation *translation, uint32_t index);
