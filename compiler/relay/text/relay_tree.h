#pragma once
/* The syntax tree of a Relay program. Made by relay_parse.c, completed by relay_check.c (types,
 * names), read by relay_lower.c. All of it is in the program's arena. Threads: one at a time per
 * program.
 *
 * No tree is deeper than RELAY_NESTING_MAX, so that every walk may be a recursion. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/name_map.h"
#include "compiler/ir/arena.h"
#include "compiler/ir/ir.h"

enum {
    RELAY_NESTING_MAX = 256,         /* nesting of expressions, patterns and types */
    RELAY_SIZE_MAX = 1 << 30,        /* bytes of a program */
    RELAY_ITEMS_MAX = 3000,          /* parts of one expression, pattern, type or list */
    RELAY_BINDINGS_MAX = 1 << 20,    /* bindings of one block */
    RELAY_DEFINITIONS_MAX = 1 << 15, /* functions and types of a program */
    RELAY_NAME_SIZE_MAX = 1 << 10,
};

/* A place in a source: lines and columns count from 1; source NULL is the user's program. */
typedef struct RelayPlace {
    const char *source;
    uint32_t line, column;
} RelayPlace;

/* "line 3, column 5" for FAIL: RELAY_AT, RELAY_PLACE(place). */
#define RELAY_AT "%s%sline %u, column %u"
#define RELAY_PLACE(place)                                                                         \
    (place).source ? (place).source : "", (place).source ? ", " : "", (place).line, (place).column

typedef struct RelayType RelayType;
typedef struct RelayExpr RelayExpr;
typedef struct RelayPattern RelayPattern;
typedef struct RelayData RelayData;

/* A type as it is written. */
typedef enum RelayTypeTextKind {
    RELAY_TEXT_UNKNOWN, /* _ */
    RELAY_TEXT_TENSOR,
    RELAY_TEXT_TUPLE,
    RELAY_TEXT_FUNCTION, /* items: parameters, then the result */
    RELAY_TEXT_NAMED,    /* a type parameter, a data type with arguments, or an element type */
} RelayTypeTextKind;

typedef struct RelayTypeText {
    RelayTypeTextKind kind;
    RelayPlace place;
    const char *name; /* of a named type */
    DType dtype;      /* of a tensor */
    uint32_t rank;
    int64_t dims[SHAPE_RANK_MAX]; /* -1: ? */
    uint32_t count, depth;
    struct RelayTypeText **items;
} RelayTypeText;

/* A variable of the program. */
typedef struct RelayLocal {
    const char *name; /* without % */
    RelayPlace place;
    const RelayTypeText *type_text; /* NULL: not written */
    RelayType *type;
    uint32_t parameter_count; /* of types, if the variable is a function with type parameters */
    RelayType **parameters;
    IrVariable *variable; /* its value, or */
    IrFunction *function; /* the function that it names */
} RelayLocal;

/* A constructor of a data type. */
typedef struct RelayConstructor {
    const char *name;
    RelayPlace place;
    RelayData *data;
    uint32_t index, field_count;
    RelayTypeText **field_texts;
    RelayType **fields;
    IrConstructor *made;  /* the module's */
    IrFunction *function; /* the constructor as a function; NULL until wanted */
} RelayConstructor;

struct RelayData {
    const char *name;
    RelayPlace place;
    uint32_t parameter_count;
    const char **parameter_names;
    RelayType **parameters;
    uint32_t constructor_count;
    RelayConstructor **constructors;
    bool wanted; /* its constructors' fields are known */
};

typedef enum RelayPatternKind {
    RELAY_PATTERN_ANY, /* _, or a variable */
    RELAY_PATTERN_CONSTRUCTOR,
    RELAY_PATTERN_TUPLE,
} RelayPatternKind;

struct RelayPattern {
    RelayPatternKind kind;
    RelayPlace place;
    const char *name;  /* of a constructor */
    RelayLocal *local; /* of a variable; NULL: _ */
    RelayConstructor *constructor;
    RelayType *type;
    uint32_t count, depth;
    RelayPattern **items;
};

/* The value of an attribute. */
typedef enum RelayValueKind {
    RELAY_VALUE_NONE,
    RELAY_VALUE_INT,
    RELAY_VALUE_BOOL,
    RELAY_VALUE_FLOAT,
    RELAY_VALUE_TEXT,
    RELAY_VALUE_LIST,
} RelayValueKind;

typedef struct RelayValue {
    RelayValueKind kind;
    int64_t integer; /* of a bool, too */
    double number;   /* of an integer, too */
    const char *text;
    uint32_t count, depth;
    struct RelayValue *items;
} RelayValue;

typedef struct RelayAttribute {
    const char *name;
    RelayPlace place;
    RelayValue value;
} RelayAttribute;

typedef enum RelayKind {
    RELAY_LOCAL,
    RELAY_GLOBAL,
    RELAY_NAME,     /* an operator or constructor */
    RELAY_CONSTANT, /* tensor; items absent */
    RELAY_TUPLE,
    RELAY_PROJECT,  /* field `index` of items[0] */
    RELAY_CALL,     /* items[0] of the others, with attributes */
    RELAY_BLOCK,    /* bindings, then items[0] */
    RELAY_IF,       /* items: condition, then, else */
    RELAY_FUNCTION, /* items[0] is the body */
    RELAY_MATCH,    /* items[0] by patterns; items[1 + i] belongs to patterns[i] */
} RelayKind;

/* What a call does to a reference. */
typedef enum RelayReference {
    RELAY_REFERENCE_NONE,
    RELAY_REFERENCE_NEW,
    RELAY_REFERENCE_READ,
    RELAY_REFERENCE_WRITE,
} RelayReference;

typedef struct RelayBinding {
    RelayLocal *local;
    RelayExpr *value;
} RelayBinding;

struct RelayExpr {
    RelayKind kind;
    bool partial; /* match? */
    RelayPlace place;
    const char *name; /* of a variable, function, operator or constructor */
    uint32_t count, depth;
    RelayExpr **items;
    uint32_t index;
    Tensor *tensor; /* owned by the program */
    uint32_t attribute_count;
    RelayAttribute *attributes;
    uint32_t binding_count;
    RelayBinding *bindings;
    uint32_t parameter_count; /* of a function */
    RelayLocal **parameters;
    uint32_t type_parameter_count;
    const char **type_parameter_names;
    const RelayTypeText *result_text; /* of a function; NULL: not written */
    uint32_t pattern_count;
    RelayPattern **patterns;
    /* set by the check */
    RelayType *type;
    RelayLocal *local;
    struct RelayGlobal *global;
    RelayConstructor *constructor;
    const struct RelayOperator *operator_row;
    RelayReference reference; /* of a call */
    RelayType **type_parameters;
};

typedef struct RelayGlobal {
    const char *name; /* without @ */
    RelayPlace place;
    RelayExpr *function;
    RelayType *type;
    bool checked, wanted;
    IrFunction *made;
} RelayGlobal;

typedef struct RelayProgram {
    Arena arena;
    NameMap *globals;      /* RelayGlobal by name */
    NameMap *datas;        /* RelayData by name */
    NameMap *constructors; /* RelayConstructor by name */
    RelayGlobal **global_list;
    size_t global_count, global_capacity;
    RelayData **data_list;
    size_t data_count, data_capacity;
    Tensor **tensors; /* all constants; each counts once */
    size_t tensor_count, tensor_capacity;
    Tensor **meta; /* the constants of the metadata section; owned by `tensors` */
    size_t meta_count;
    bool has_references; /* set by the check */
    bool has_circle;     /* set where types do not fit because one would hold itself */
    uint64_t type_steps; /* of work on types, over the whole program */
} RelayProgram;

MUST_CHECK Error *relay_program_create(RelayProgram **out);
void relay_program_release(RelayProgram *program);
DEFINE_OWN(RelayProgram, relay_program_release);

/* Keeps a tensor until the program is released. Takes the reference even on failure. */
MUST_CHECK Error *relay_program_keep(RelayProgram *program, Tensor *owned_tensor);
/* Makes cleared memory of the program. */
MUST_CHECK Error *relay_new(RelayProgram *program, size_t count, size_t size, void *out_pointer);
