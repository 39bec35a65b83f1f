#pragma once
/* Operators of other domains that are a group of plain ones, as text. onnx_node.c finds the row of
 * a node in onnx_compositions.def and writes its group into the module. Threads: one at a time per
 * import.
 *
 * The text is a list of statements with ';' between them, carried out in order:
 *
 *   y = Gelu(x + bias)
 *   a, b = Split{axis=-1, num_outputs=2}(x)
 *   if transA and not alpha == 1: a = Einsum{equation="...ij->...ji"}(a)
 *   if bias: {y = y + bias; known = 1} else {known = 0}
 *   for i < #axes: y = Gather{axis=$axis}(y, axes[i])
 *   fail "past without present"
 *   require Greater(size, 0) "size is 0"
 *
 *   loop rounds while go: a, b {a = a + b; go = Less(a, 9)}
 *
 * `fail` refuses the file; `require` makes a check of each run. `loop` carries values from round to
 * round, at most as often as the one-element tensor `rounds` says; behind it they are those of the
 * last round, and other names are what they were before. An attribute of kind g is a graph and is
 * called like an operator: the last result is a list of all outputs that remain, and a list stands
 * for as many inputs as it has. An operator of a list is a list, made value by value.
 * NoCaches(graph, 3, 2, batch) is a list of empty caches for two of the graph's inputs from 3 on,
 * NoKeys(graph, 3, 2, batch) where keys and values have caches of their own;
 * First(list, n) and Rest(list, n) are parts of a list. inputs(graph) and outputs(graph) are
 * numbers, takes(graph, "x") is 1 where an input has that name, else 0, and width(graph, "x") its
 * second dimension.
 *
 * A name stands for an input, an attribute, or what was assigned to it before. An input that the
 * node leaves out, and `_`, are absent. Operators have ONNX's names and the semantics of their
 * newest version. `$name` in the attributes of an operator is the value of the node's attribute, or
 * of a number that was assigned; an attribute whose value is absent is left out. 2 and an attribute
 * of kind i are int64 constants of rank 0; 2.0 and an attribute of kind f are constants of the
 * element type of the operand beside them; [1, n] is an int64 vector. An attribute of kind I, F or
 * S is a constant vector, absent where it has no entries (F, S); one of kind t is a constant
 * tensor; list[0] and list[i] are entries of it, #list how many it has. FewBits(x, 4, n) is a
 * constant of bytes as rows of n integers of 4 bits each, n <= 0: all of them; FewBits(x, 4, n, 1):
 * 8 less, so that they are signed. rank(x), dim(x, 1) and bytes(x), those of an element, are
 * numbers, text(x) is 1 for elements that are texts, else 0; absent where only shape inference can
 * know them. Arithmetic on numbers alone is done at import. A condition is a name (an input that is
 * there; a number that is not 0; a text that is not empty), `wants name` (the node names that
 * output), or a name compared by ==, != or < with a number, a text or the name of a number; `not`
 * before it, `and` between several. */
#include "compiler/frontend/base/onnx_internal.h"

typedef struct Composition {
    const char *op_type;    /* with its domain before it, as in onnx_nodes.def */
    const char *inputs;     /* "x bias?": '?' behind those that may be absent */
    const char *attributes; /* a declaration string, as in attributes.h */
    const char *outputs;    /* "y mean"; one that the text did not assign is refused if wanted */
    const char *text;
} Composition;

/* The row of that name; NULL: there is none. */
const Composition *composition_find(const char *op_type);
/* Errors: INVALID a required input is missing, attributes; UNSUPPORTED an attribute or output that
 * the row does not know, what the text says by `fail`; INTERNAL a text that cannot be read. */
MUST_CHECK Error *composition_emit(const OnnxNode *node, const Composition *composition);
