#pragma once
/* An executable: the compiled, immutable form of one model version: functions, constants,
 * primitives, code. Used by everything above; counted, and any thread may read one.
 *
 * Built by ExecutableBuilder (compiler, assembler) or read from a file. Only verified executables
 * exist, since executable_builder_finish runs the verifier. */
#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/refcount.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"
#include "vm/objects/value.h"

enum {
    EXECUTABLE_FUNCTIONS_MAX = 1 << 20,
    EXECUTABLE_CONSTANTS_MAX = 1 << 20,
    EXECUTABLE_PRIMITIVES_MAX = 1 << 20,
    EXECUTABLE_CODE_WORDS_MAX = 1 << 27,
    FUNCTION_REGISTERS_MAX = 1 << 20,
    FUNCTION_NAME_MAX = 1024,
};
#define EXECUTABLE_NO_LIBRARY UINT32_MAX

typedef enum FunctionKind { /* stored */
    FUNCTION_BYTECODE = 0,
    FUNCTION_PACKED = 1, /* a host function found by name when the execution starts */
} FunctionKind;

typedef enum FunctionFlags { /* stored */
    FUNCTION_NULLS = 1,    /* registers start as nil (Relax); reading an unwritten one is defined */
    FUNCTION_EXPORTED = 2, /* callers outside the executable may name it; other functions are the
                            * compiler's */
} FunctionFlags;

typedef enum PortForm { /* stored */
    PORT_TENSOR = 0,
    PORT_LIST = 1,          /* of tensors */
    PORT_OPTIONAL = 2,      /* a tensor or nil */
    PORT_OPTIONAL_LIST = 3, /* a list of tensors or nil */
} PortForm;

/* One parameter or result as people see it. Binding checks inputs against it: dtype and rank must
 * match, fixed dimensions too, and dimensions with equal symbols must be equal. */
typedef struct Port {
    char *name;
    PortForm form; /* of forms other than TENSOR, the members below describe the tensors inside */
    DType dtype;   /* DTYPE_NONE: anything */
    bool rank_known;
    uint8_t slot;                  /* the slot where the function expects (or leaves) the value:
                                    * 0 host, 1 device */
    Shape shape;                   /* -1: dynamic */
    char *symbols[SHAPE_RANK_MAX]; /* name of a dynamic dimension, or NULL */
} Port;

typedef struct Function {
    char *name;
    FunctionKind kind;
    uint32_t flags;
    uint32_t parameter_count;
    uint32_t register_count; /* parameters are registers 0 ... */
    uint32_t first_word;     /* of its code in Executable.code */
    uint32_t word_count;
    uint32_t instruction_count;
    const uint32_t *instruction_words; /* word offset (from first_word) of each instruction */
    /* NULL or parameter_count / result_count ports. result_count 1: the returned value is that
     * result; otherwise the returned value is a tuple (ADT tag 0) of result_count fields. */
    Port *parameters;
    Port *results;
    uint32_t result_count;
} Function;

typedef struct Constant {
    Value value;  /* tensor (host, sealed, storage.constant_index set), shape, string, int, float,
                     bool or dtype */
    uint8_t slot; /* for a tensor: the slot where instructions find it */
} Constant;

typedef struct Primitive {
    const OperatorInfo *operator_info;
    Attributes *attributes; /* checked */
} Primitive;

/* Facts that were derived from the code and are kept with it. Begins with the function that frees
 * them. */
typedef struct CodeFacts {
    void (*release)(struct CodeFacts *facts);
} CodeFacts;

typedef struct Executable {
    Refcount refcount;
    Function *functions;
    Constant *constants;
    Primitive *primitives;
    const uint64_t *code;
    uint32_t function_count, constant_count, primitive_count, code_word_count;
    /* What a translator keeps of the file that the executable was made from, so that the file can
     * be written again; NULL: nothing. */
    uint8_t *source;
    size_t source_size;
    /* The constant that holds the bytes of a native library, or EXECUTABLE_NO_LIBRARY: packed
     * functions that no host has are looked for there. A uint8 tensor in slot 0. */
    uint32_t native_library;
    /* SHA-256 of those bytes as stored with the executable; computed on demand for one that was
     * made in this process (executable_get_native_digest). */
    Digest native_digest;
    bool native_digest_stored;
    Digest identity; /* SHA-256 of the manifest; all zero until serialize has computed it */
    bool outline;    /* large constants have no data; their bytes must not be read */
    /* The code brings strings into slot 1 (device_strings.h), so only a device in host memory can
     * run it (executable_check_device). Set by the verifier. */
    bool device_strings;
    struct CodeFacts *liveness; /* liveness.h; filled on demand, thread-safe */
} Executable;

Executable *executable_retain(const Executable *executable);
void executable_release(Executable *executable);
DEFINE_OWN(Executable, executable_release);
/* Finds an exported function. Errors: NOT_FOUND, naming the exported functions. */
MUST_CHECK Error *executable_find_function(
    const Executable *executable, const char *name, uint32_t *out_index);
/* The function for a call that gives an input of that name: `function`, or, where that lacks the
 * input, the exported function NAME_given if it has it. A compiler makes such a second function of
 * a model whose file has values for some inputs: in the first they are constants. */
uint32_t executable_choose_function(
    const Executable *executable, uint32_t function, const char *input);
static inline bool port_is_list(const Port *port) {
    return port->form == PORT_LIST || port->form == PORT_OPTIONAL_LIST;
}
static inline bool port_is_optional(const Port *port) {
    return port->form == PORT_OPTIONAL || port->form == PORT_OPTIONAL_LIST;
}
/* "tensor", "list", "optional", "optional list" */
const char *port_form_name(PortForm form);
/* Word offset in executable->code of instruction pc of a function. */
static inline const uint64_t *function_instruction(
    const Executable *executable, const Function *function, uint32_t pc) {
    return executable->code + function->first_word + function->instruction_words[pc];
}
/* Errors: UNSUPPORTED the device cannot run the executable. */
MUST_CHECK Error *executable_check_device(const Executable *executable, const Device *device);
/* The SHA-256 of the native library: the stored one, or that of its bytes. */
MUST_CHECK Error *executable_get_native_digest(const Executable *executable, Digest *out);
/* Bytes of all tensor constants. */
uint64_t executable_constant_bytes(const Executable *executable);
