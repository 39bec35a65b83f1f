#pragma once
/* What the statements (onnx_composition.c) and the expressions (onnx_composition_expression.c) of a
 * composition share: the place in the text and the names so far. */
#include "compiler/frontend/nodes/onnx_composition.h"
#include "kernels/operator/operator.h"

enum {
    COMPOSITION_NAMES_MAX = 128,
    COMPOSITION_NAME_SIZE = 48,
    COMPOSITION_CALL_MAX = 16,
    COMPOSITION_LISTS_MAX = 64,
    COMPOSITION_INTS_MAX = 1 << 16, /* longer lists are read in the node, not copied */
    COMPOSITION_TEXT_MAX = 256,     /* of a `require` */
    COMPOSITION_ROUNDS_MAX = 4096,  /* of a `for` */
};

typedef enum ComposedKind {
    COMPOSED_VARIABLE,
    COMPOSED_INT,
    COMPOSED_FLOAT,
    COMPOSED_TEXT,
    COMPOSED_LIST, /* of variables */
} ComposedKind;

typedef struct ComposedValue {
    ComposedKind kind;
    IrVariable *variable; /* NULL: absent */
    int64_t int_value;
    double float_value;
    const char *text;  /* borrowed from the attributes or the module */
    IrVariable **list; /* from the arena */
    uint32_t list_count;
} ComposedValue;

static inline bool composed_is_number(const ComposedValue *value) {
    return value->kind == COMPOSED_INT || value->kind == COMPOSED_FLOAT;
}
static inline double composed_number(const ComposedValue *value) {
    return value->kind == COMPOSED_FLOAT ? value->float_value : (double)value->int_value;
}

typedef struct ComposedName {
    char name[COMPOSITION_NAME_SIZE];
    ComposedValue value;
} ComposedName;

typedef struct Composer {
    const OnnxNode *node;
    const Composition *composition;
    OperatorInfo info;      /* declares the attributes */
    Attributes *attributes; /* the node's, with defaults */
    const char *at;         /* in the text */
    uint32_t count;
    ComposedName names[COMPOSITION_NAMES_MAX];
} Composer;

/* A text that cannot be read is a bug of onnx_compositions.def. */
MUST_CHECK Error *composer_fail(const Composer *composer, const char *wanted);
void composer_skip_space(Composer *composer);
/* Moves behind the sign or word if it comes next. */
bool composer_take(Composer *composer, const char *sign);
/* Reads a name. Returns false, and stays, where none comes next. */
bool composer_take_name(Composer *composer, char name[COMPOSITION_NAME_SIZE]);
/* The value that a name stands for. Errors: INTERNAL an unknown name. */
MUST_CHECK Error *composer_look_up(Composer *composer, const char *name, ComposedValue *out);
/* The node's list of that name; NULL: it has none. Errors: INVALID an attribute of another kind. */
MUST_CHECK Error *composer_find_list(
    const Composer *composer, const char *name, const Onnx__AttributeProto **out);
/* Reads an expression with so many results (more than one: a call). */
MUST_CHECK Error *composer_read_expression(
    Composer *composer, uint32_t result_count, ComposedValue *out_results);
/* Reads a number, a text, a name, a call or what stands in parentheses, with '-' before it. */
MUST_CHECK Error *composer_read_factor(Composer *composer, ComposedValue *out);
/* The rank of a value, or a dimension; negative: only shape inference can know it. */
int64_t composer_rank(const IrVariable *variable);
int64_t composer_dim(const IrVariable *variable, int64_t index);
/* Whether elements are texts: 1 or 0; -1: only shape inference can know it. */
int composer_is_text(const IrVariable *variable);
/* The bytes of an element; negative: only type inference can know them. */
int64_t composer_bytes(const IrVariable *variable);
MUST_CHECK Error *composer_set_name(Composer *composer, const char *name, ComposedValue value);
/* Carries out statements up to the sign that ends them; "": up to the end of the text. */
MUST_CHECK Error *composer_carry_out(Composer *composer, const char *end);

/* onnx_composition_loop.c: a loop, behind the word. */
MUST_CHECK Error *composer_read_loop(Composer *composer);
/* onnx_composition_graph.c: the value of a name, or those of a list. */
IrVariable *const *composer_values(const ComposedValue *value, uint32_t *out_count);
/* Room for so many values, in the module's arena. */
MUST_CHECK Error *composer_make_values(const Composer *composer, uint64_t count, IrVariable ***out);
/* The outputs of a graph of the node; the last result is a list of all that remain. */
MUST_CHECK Error *composer_call_graph(Composer *composer, const char *name,
    const ComposedValue *arguments, uint32_t argument_count, uint32_t result_count,
    ComposedValue *out_results);
/* Caches without places for some of a graph's inputs, behind the word: (graph, first, count,
 * batch). both: of keys and values, [2, batch, heads, 0, size]; otherwise of one of the two.
 * Errors: INVALID fewer inputs; UNSUPPORTED an input that is no cache. */
MUST_CHECK Error *composer_read_caches(Composer *composer, bool both, ComposedValue *out);
/* A number, behind the question: (graph) for `inputs` or `outputs`, how many; (graph, "x") for
 * `takes` (1: an input has that name, else 0) and `width` (its second dimension; absent: unknown).
 */
MUST_CHECK Error *composer_read_question(
    Composer *composer, const char *question, ComposedValue *out);
