#pragma once
/* A file of TVM's Relax virtual machine, parsed: globals, memory scopes, constants, code. Made by
 * relax_file_read, whose bytes it points into; written back byte for byte; printed by relax_text.h;
 * translated into an Executable by relax_translate.h. Callers: tools/ and tests. Threads: any; one
 * at a time per file that is being read.
 *
 * How Relax's values appear in the translated executable, for packed functions called by it:
 *   null, void register      nil
 *   int, immediate           int
 *   float, dtype, string     float, dtype, string
 *   shape                    shape object
 *   tensor                   tensor; constants in slot 1
 *   ffi.Array (tuple)        ADT with tag 0
 *   function of the file     closure, side LAST, also of a packed function of the file
 *   the VM register (%vm)    the constant string RELAX_VM_TEXT; functions that take the VM ignore
 *                            their argument 0, or fail when it is not that string
 * vm.builtin.tuple_reset_item(tuple, i) is called with the tuple's own register as destination: the
 * function returns the tuple with field i replaced by nil, and changes no tuple that others hold.
 *
 * Stored as: docs/relax.md */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define RELAX_VM_TEXT "relax.vm"
#define RELAX_REGISTER_VOID (INT64_C(1) << 54)
#define RELAX_REGISTER_VM ((INT64_C(1) << 54) + 1)

/* Which versions of TVM write a file like this; they all call the format "0.14". */
typedef enum RelaxGeneration {
    RELAX_TVM_0_16, /* 0.16 to 0.20: a length before the content, small constant tags */
    RELAX_TVM_0_21, /* a length before the content */
    RELAX_TVM_0_22,
    RELAX_TVM_0_23, /* 0.23 to 0.27: memory scopes */
    RELAX_GENERATION_COUNT
} RelaxGeneration;

/* Text inside the file: no NUL behind it. */
typedef struct RelaxText {
    const char *data;
    size_t size;
} RelaxText;

typedef enum RelaxGlobalKind { /* as in the file */
    RELAX_PACKED = 0,
    RELAX_BYTECODE = 1,
    RELAX_NATIVE = 2, /* VMTIRFunc: compiled code under the name __vmtir__NAME */
} RelaxGlobalKind;

#define RELAX_NATIVE_PREFIX "__vmtir__"

typedef struct RelaxGlobal {
    int32_t kind; /* RelaxGlobalKind */
    RelaxText name;
    int64_t start, end;     /* instructions of the whole file; end is exclusive */
    int64_t argument_count; /* -2: not declared (packed functions) */
    int64_t register_count;
    RelaxText *parameter_names;
    uint64_t parameter_name_count; /* 0 or argument_count */
} RelaxGlobal;

typedef struct RelaxScope {
    int64_t constant;
    RelaxText scope;
} RelaxScope;

typedef struct RelaxDType { /* DLPack's */
    uint8_t code, bits;
    uint16_t lanes;
} RelaxDType;

typedef struct RelaxTensor {
    uint64_t reserved;
    RelaxDType dtype;
    uint32_t rank;
    const uint8_t *shape; /* rank little-endian int64, not aligned: relax_word */
    uint64_t size;        /* bytes of data */
    const uint8_t *data;  /* NULL in an outline */
} RelaxTensor;

typedef enum RelaxConstantKind {
    RELAX_TENSOR,
    RELAX_SHAPE,
    RELAX_STRING,
    RELAX_INT,
    RELAX_FLOAT,
    RELAX_DTYPE,
    RELAX_CONSTANT_KIND_COUNT
} RelaxConstantKind;

typedef struct RelaxConstant {
    RelaxConstantKind kind;
    union {
        RelaxTensor tensor;
        struct {
            uint64_t rank;
            const uint8_t *dims; /* like RelaxTensor.shape */
        } shape;
        RelaxText string;
        int64_t integer;
        double real;
        RelaxDType dtype;
    };
} RelaxConstant;

typedef struct RelaxFile {
    RelaxGeneration generation;
    bool length_first; /* the content is preceded by its length */
    uint64_t length;   /* that length, or 0 */
    RelaxGlobal *functions;
    RelaxScope *scopes;
    RelaxConstant *constants;
    const uint8_t *offsets; /* of each instruction, in words; relax_word */
    const uint8_t *words;
    uint64_t function_count, scope_count, constant_count, instruction_count, word_count;
    const uint8_t *trailing; /* bytes behind the content, which mean nothing */
    size_t trailing_size;
} RelaxFile;

typedef enum RelaxOpcode { /* as in the file */
    RELAX_CALL = 1,
    RELAX_RET = 2,
    RELAX_GOTO = 3,
    RELAX_IF = 4,
} RelaxOpcode;

typedef enum RelaxArgumentKind { /* as in the file */
    RELAX_ARGUMENT_REGISTER = 0,
    RELAX_ARGUMENT_IMMEDIATE = 1,
    RELAX_ARGUMENT_CONSTANT = 2,
    RELAX_ARGUMENT_FUNCTION = 3,
} RelaxArgumentKind;

/* One instruction, taken apart. */
typedef struct RelaxInstruction {
    RelaxOpcode opcode;
    int64_t reg;      /* destination, result or condition */
    int64_t function; /* CALL */
    int64_t jump;     /* GOTO, IF: in instructions from this one; IF: where the test fails */
    uint64_t count;   /* CALL: arguments */
    const uint8_t *arguments; /* relax_word, relax_argument_kind, relax_argument_value */
} RelaxInstruction;

/* Word i of an array of little-endian int64 in the file. */
static inline int64_t relax_word(const uint8_t *words, uint64_t index) {
    int64_t word;
    memcpy(&word, words + 8 * index, sizeof word); /* x86-64 and aarch64 are little-endian */
    return word;
}
static inline RelaxArgumentKind relax_argument_kind(int64_t word) {
    return (RelaxArgumentKind)((uint64_t)word >> 56);
}
static inline int64_t relax_argument_value(int64_t word) {
    return (int64_t)((uint64_t)word << 8) >> 8;
}

/* Parses and checks a whole file; nothing of it is trusted afterwards that was not checked. The
 * result points into data.
 *
 * outline: data was written by relax_file_write with outline set: tensors have no data.
 *
 * Errors: CORRUPT; UNSUPPORTED another version of the format. */
MUST_CHECK Error *relax_file_read(const void *data, size_t size, bool outline, RelaxFile **out);
/* Whether data starts like a Relax file. 24 bytes suffice. */
bool relax_file_probe(const void *data, size_t size);
void relax_file_release(RelaxFile *file);
DEFINE_OWN(RelaxFile, relax_file_release);
/* Takes one instruction of a checked file apart. */
RelaxInstruction relax_file_instruction(const RelaxFile *file, uint64_t index);
/* Writes the bytes that the file was read from. outline: without the data of tensors. */
MUST_CHECK Error *relax_file_write(const RelaxFile *file, bool outline, ByteWriter *writer);
