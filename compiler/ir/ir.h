#pragma once
/* The compiler's intermediate representation: functions of blocks of bindings. Each binding names
 * the results of one expression over variables (A-normal form by construction). Used by the whole
 * compiler. Threads: one at a time per module.
 *
 * Everything but tensors and attributes is in the module's arena, and lives as long as the module.
 * Variables are made once and never written. A block sees the variables that the blocks around it
 * make before it; a local function also sees those of the functions around it (lambda lifting turns
 * them into parameters). Constants belong to the module and are visible everywhere. The IR knows no
 * device. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/name_map.h"
#include "compiler/ir/arena.h"
#include "kernels/operator/attributes.h"
#include "kernels/operator/operator.h"
#include "kernels/tensor/tensor.h"
#include "vm/instruction/opcode.h"
#include "vm/objects/value.h"

enum {
    /* Nesting of blocks and of functions; bounds every recursion over them. */
    IR_NESTING_MAX = 200,
    IR_VARIABLES_MAX = 1 << 24,
    IR_FUNCTIONS_MAX = 1 << 16,
    IR_SYMBOLS_MAX = 1 << 20,
    IR_OPERANDS_MAX = 4000, /* operands of one binding; an instruction has at most 4096 */
    IR_SLOT_NONE = 255,
};

typedef struct IrModule IrModule;
typedef struct IrFunction IrFunction;
typedef struct IrBlock IrBlock;
typedef struct IrBinding IrBinding;
typedef struct IrVariable IrVariable;
typedef struct IrConstructor IrConstructor;

typedef enum IrTypeKind {
    IR_TYPE_UNKNOWN = 0,
    IR_TYPE_TENSOR,
    IR_TYPE_INT,   /* int64 scalar in a register, not a tensor */
    IR_TYPE_BOOL,  /* the same */
    IR_TYPE_FLOAT, /* float64, the same */
    IR_TYPE_LIST,
    IR_TYPE_DATA, /* ADT or tuple */
    IR_TYPE_CLOSURE,
    IR_TYPE_OPTIONAL, /* nil, or a value of the element's type itself */
    IR_TYPE_COUNT
} IrTypeKind;

/* A dimension is known (>= 0), IR_DIM_UNKNOWN, or ir_dim_symbol(symbol), which is one number at all
 * places of the symbol. */
#define IR_DIM_UNKNOWN INT64_C(-1)
static inline int64_t ir_dim_symbol(uint32_t symbol) { return -2 - (int64_t)symbol; }
static inline bool ir_dim_is_symbol(int64_t dim) { return dim <= -2; }
static inline uint32_t ir_dim_get_symbol(int64_t dim) { return (uint32_t)(-2 - dim); }

typedef struct IrType {
    IrTypeKind kind;
    DType dtype; /* of a tensor; DTYPE_NONE: unknown */
    bool rank_known;
    uint32_t rank;
    int64_t dims[SHAPE_RANK_MAX];
    const struct IrType *element; /* of a list or optional; NULL: unknown */
} IrType;

typedef enum IrKind {
    /* results = operator(operands, NULL where absent): operator_info, attributes */
    IR_OPERATOR,
    /* results = function(operands) */
    IR_CALL,
    /* results = operands[0](operands[1 ...]) */
    IR_CALL_CLOSURE,
    /* result = function as a value; operands: its captured variables, bound by lambda lifting */
    IR_CLOSURE,
    /* results = operands[0] ? blocks[0] : blocks[1]; the condition is a bool or int scalar or a
       one-element bool or integer tensor */
    IR_IF,
    /* results = the first block whose constructors[i] made operands[0] (NULL: any); the block's
       parameters are its fields */
    IR_MATCH,
    /* result = ADT of constructor (NULL: a tuple) and operands */
    IR_CONSTRUCT,
    /* result = field of operands[0]: number integer, or operands[1] (an int) where it is given */
    IR_GET_FIELD,
    /* result = tag of operands[0] as an int */
    IR_GET_TAG,
    /* result = list of operands */
    IR_LIST_NEW,
    /* result = list operands[0] with operands[1] behind its end */
    IR_LIST_APPEND,
    /* result = tensors of list operands[0] joined along axis integer; flag: a new axis.
       operands[1], where given, is the list's length (int): with it an empty list is allowed */
    IR_LIST_CONCAT,
    /* result = optional of operands[0]; without one it is empty */
    IR_OPTIONAL,
    /* result = builtin packed function (IrPackedCall)integer of operands */
    IR_CALL_PACKED,
    /* result = operands[0] (IntOpKind)integer operands[1], ints; eq, lt, le give a bool */
    IR_INT_OP,
    /* result = the one element of tensor operands[0] as an int, bool or float */
    IR_READ_SCALAR,
    /* result = rank-0 tensor of scalar operands[0], element type dtype */
    IR_MAKE_TENSOR,
    /* result = shape of tensor operands[0] as an int64 tensor [rank] */
    IR_SHAPE_OF,
    /* result = operands[0] in slot integer */
    IR_DEVICE_COPY,
    /* operands[0] is the next value of the output stream */
    IR_YIELD,
    /* fails with text; the results are never made */
    IR_FATAL,
    IR_KIND_COUNT
} IrKind;

/* The packed functions of packed_calls.def. */
typedef enum IrPackedCall {
#define PACKED_CALL(id, name, arity, result) IR_PACKED_##id,
#include "compiler/ir/packed_calls.def"
#undef PACKED_CALL
    IR_PACKED_COUNT
} IrPackedCall;

typedef enum IrPackedResult {
    IR_PACKED_RESULT_INT,
    IR_PACKED_RESULT_BOOL,
    IR_PACKED_RESULT_LIST,
    IR_PACKED_RESULT_ELEMENT,
} IrPackedResult;

typedef struct IrPackedInfo {
    const char *name;
    uint32_t arity;
    IrPackedResult result;
} IrPackedInfo;

const IrPackedInfo *ir_packed_info(IrPackedCall call);

struct IrVariable {
    uint32_t id;      /* unique in the module, by order of creation: index of side tables */
    uint32_t index;   /* number of its binding's result, or of the parameter */
    const char *name; /* for people; may be NULL */
    IrType type;
    uint8_t slot; /* of a tensor (or a list's or optional's tensors), set by the slots pass */
    /* a constant: tensor, int, bool, float or string; NULL: not a constant */
    const Value *constant;
    IrBinding *binding; /* the binding that makes it; NULL: a parameter or a constant */
    IrBlock *block;     /* the block that makes it; NULL: a constant */
    /* the variable that a pass put in the place of this one, which has no uses any more */
    IrVariable *replacement;
};

struct IrBinding {
    IrBinding *previous, *next;
    IrBlock *block;
    IrKind kind;
    bool flag; /* LIST_CONCAT: new axis; CALL, CALL_CLOSURE: in tail position (set by the tail call
                  pass); OPERATOR: runs in slot 0 (set by the slots pass) */
    DType dtype; /* MAKE_TENSOR */
    uint32_t result_count, operand_count, block_count;
    IrVariable **results;
    IrVariable **operands; /* NULL entries only for absent inputs of operators */
    IrBlock **blocks;
    int64_t integer;
    const OperatorInfo *operator_info;
    const Attributes *attributes; /* checked; kept by the module */
    IrFunction *function;
    IrConstructor *constructor;
    IrConstructor **constructors; /* MATCH: one a block */
    const char *text;             /* FATAL */
    const IrType *declared;       /* LIST_CONCAT: the declared type of the items; may be NULL */
    const char *name;             /* name of the source's node, for messages; may be NULL */
};

/* Returns operand i as it stands, before replacements; NULL when absent. */
static inline IrVariable *ir_operand(const IrBinding *binding, uint32_t index) {
    return index < binding->operand_count ? binding->operands[index] : NULL;
}

struct IrBlock {
    IrFunction *function;
    IrBinding *parent; /* the IF or MATCH that the block belongs to; NULL: a function's body */
    uint32_t index;    /* in parent->blocks */
    uint32_t depth;    /* number of blocks and functions around it */
    IrBinding *first, *last;
    uint32_t parameter_count, result_count;
    IrVariable **parameters; /* of a function's body: the function's; of a case: the fields */
    IrVariable **results;    /* visible at the block's end */
};

struct IrFunction {
    IrModule *module;
    uint32_t index; /* in module->functions */
    const char *name;
    bool exported;
    const IrBlock *outer; /* the block around a local function; NULL: none */
    IrBlock *body;
    /* The types of the body's results if declared or inferred (result_count of the body), and the
     * names of an exported function's results. */
    IrType *result_types;
    const char **result_names;
    uint32_t result_count;
};

/* One constructor of a data type. The ADT tag pass sets its tag: its place in the type's order. */
struct IrConstructor {
    const char *data_type;
    const char *name;
    uint32_t field_count;
    int64_t tag; /* -1 until set */
};

struct IrModule {
    Arena arena;
    IrFunction **functions;
    size_t function_count, function_capacity;
    const char **symbols; /* names of dimensions; "" for nameless ones */
    size_t symbol_count, symbol_capacity;
    NameMap *symbol_names; /* symbols by name: uint32_t in the arena */
    IrVariable **constants;
    size_t constant_count, constant_capacity;
    IrConstructor **constructors;
    size_t constructor_count, constructor_capacity;
    Attributes **attributes; /* owned by the module */
    size_t attribute_count, attribute_capacity;
    uint32_t variable_count; /* ids below this number are in use */
    TextBuilder warnings;    /* lines for the person who compiles */
};

MUST_CHECK Error *ir_module_create(IrModule **out);
void ir_module_release(IrModule *module);
DEFINE_OWN(IrModule, ir_module_release);

/* Adds a line to the module's warnings. */
MUST_CHECK Error *ir_module_warn(IrModule *module, const char *format, ...) PRINTF_LIKE(2, 3);

IrType ir_type_tensor(DType dtype);                                     /* rank unknown */
IrType ir_type_shaped(DType dtype, uint32_t rank, const int64_t *dims); /* dims as above */
IrType ir_type_scalar(IrTypeKind kind);
/* Makes a type. kind: a list or an optional; element NULL: unknown. */
MUST_CHECK Error *ir_type_container(
    IrModule *module, IrTypeKind kind, const IrType *element, IrType *out);
static inline bool ir_type_is_container(const IrType *type) {
    return type->kind == IR_TYPE_LIST || type->kind == IR_TYPE_OPTIONAL;
}
bool ir_type_equal(const IrType *a, const IrType *b);
/* Returns true for a tensor whose dimensions are all known. */
bool ir_type_is_static(const IrType *type);

/* Returns the symbol of that name, made if new. name "": a new symbol, different from all others.
 */
MUST_CHECK Error *ir_module_symbol(IrModule *module, const char *name, uint32_t *out_symbol);
/* Copies text into the arena. NULL gives NULL. */
MUST_CHECK Error *ir_module_text(IrModule *module, const char *text, const char **out);

/* Makes a function without parameters, with an empty body. outer: the block around a local
 * function, whose variables it may use if it is called while they are in scope; NULL: none. Only
 * names of exported functions must be unique; NULL: a generated name. */
MUST_CHECK Error *ir_function_create(
    IrModule *module, const char *name, bool exported, const IrBlock *outer, IrFunction **out);
MUST_CHECK Error *ir_function_add_parameter(
    IrFunction *function, const char *name, const IrType *type, IrVariable **out);
/* Sets the results of a function's body. names, types: NULL, or one per result (NULL names,
 * IR_TYPE_UNKNOWN types allowed). */
MUST_CHECK Error *ir_function_set_results(IrFunction *function, uint32_t count,
    IrVariable *const *results, const char *const *names, const IrType *types);
/* Declares the number of a function's results, so that calls can be made before its body. */
MUST_CHECK Error *ir_function_declare_results(
    IrFunction *function, uint32_t count, const IrType *types);
IrFunction *ir_module_find_function(const IrModule *module, const char *name);

/* Sets the results of a block that is not a function's body. */
MUST_CHECK Error *ir_block_set_results(IrBlock *block, uint32_t count, IrVariable *const *results);
MUST_CHECK Error *ir_block_add_parameter(
    IrBlock *block, const char *name, const IrType *type, IrVariable **out);

MUST_CHECK Error *ir_constructor_create(IrModule *module, const char *data_type, const char *name,
    uint32_t field_count, IrConstructor **out);

/* Make constants. Tensors are retained; they must be on a host device and are never written again.
 */
MUST_CHECK Error *ir_constant_tensor(IrModule *module, Tensor *tensor, IrVariable **out);
MUST_CHECK Error *ir_constant_int(IrModule *module, int64_t value, IrVariable **out);
MUST_CHECK Error *ir_constant_bool(IrModule *module, bool value, IrVariable **out);
MUST_CHECK Error *ir_constant_float(IrModule *module, double value, IrVariable **out);
/* Whether two constants are the same, strings by content and numbers by bits: different NaNs and
 * signed zeros stay apart. */
bool ir_constant_equal(const Value *a, const Value *b);
/* Returns the tensor of a constant, or NULL. The variable owns it. */
Tensor *ir_variable_tensor(const IrVariable *variable);
IrFunction *ir_variable_function(const IrVariable *variable); /* NULL for constants */

/* Checks a module: every use sees its definition, and every binding has the counts that its kind
 * needs. lifted: functions use no other function's variables. Errors: INTERNAL, saying where. */
MUST_CHECK Error *ir_check(const IrModule *module, bool lifted);

/* Where the next binding goes. */
typedef struct IrCursor {
    IrBlock *block;
    IrBinding *before; /* NULL: at the block's end */
} IrCursor;

static inline IrModule *ir_cursor_module(IrCursor at) { return at.block->function->module; }
static inline IrCursor ir_at_end(IrBlock *block) { return (IrCursor){block, NULL}; }
static inline IrCursor ir_before(IrBinding *binding) { return (IrCursor){binding->block, binding}; }
static inline IrCursor ir_behind(IrBinding *binding) {
    return (IrCursor){binding->block, binding->next};
}
