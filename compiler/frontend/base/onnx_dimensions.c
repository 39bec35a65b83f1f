/* Removes names of dimensions that carry no information or cannot be right everywhere.
 *
 * Some exporters give one name to every dimension of unknown size. A name that stands more than
 * once in the shape of one input may be such a name, or mean a square. Only its first place keeps
 * the name, so that passes draw no conclusion about the other places. A name that stands at the
 * first dimension and another one of the same input, or at three of them, is removed from all
 * inputs.
 *
 * A name that several inputs share is either relied on and checked, or ignored: compile.c tries
 * both. */
#include "base/allocator.h"
#include "compiler/frontend/base/onnx_internal.h"

static bool is_blank(const char *name) {
    while (*name == ' ' || *name == '?') name++;
    return *name == 0;
}

static const Onnx__TensorShapeProto *shape_of(const Onnx__ValueInfoProto *info) {
    const Onnx__TypeProto *type = info->type;
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return NULL;
    return type->tensor_type->shape;
}

const char *onnx_dimension_name(const Onnx__TensorShapeProto__Dimension *dimension) {
    if (dimension->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM) return NULL;
    const char *name = dimension->dim_param;
    return name && !is_blank(name) ? name : NULL;
}

static bool has_name(const Onnx__TensorShapeProto__Dimension *dimension, const char *name) {
    const char *own = onnx_dimension_name(dimension);
    return own && strcmp(own, name) == 0;
}

/* The proto is the import's own. */
static void drop(Onnx__TensorShapeProto__Dimension *dimension) { dimension->dim_param[0] = 0; }

static void drop_everywhere(const Onnx__GraphProto *graph, const char *name) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TensorShapeProto *shape = shape_of(graph->input[i]);
        for (size_t d = 0; shape && d < shape->n_dim; d++)
            if (has_name(shape->dim[d], name)) drop(shape->dim[d]);
    }
}

/* How often the name of dimension `at` stands from there on. */
static size_t count_name(const Onnx__TensorShapeProto *shape, size_t at, const char *name) {
    size_t count = 0;
    for (size_t d = at; d < shape->n_dim; d++) count += has_name(shape->dim[d], name);
    return count;
}

static Error *warn(IrModule *module, const char *input, const char *name, size_t count) {
    return ir_module_warn(module,
        "input %s: %s names %zu of its dimensions; they are taken to be independent of each other",
        input, name, count);
}

static Error *check_input(IrModule *module, const Onnx__GraphProto *graph,
    const Onnx__ValueInfoProto *input, const Onnx__TensorShapeProto *shape) {
    for (size_t d = 0; d < shape->n_dim; d++) {
        const char *name = onnx_dimension_name(shape->dim[d]);
        const size_t count = name ? count_name(shape, d, name) : 0;
        if (count < 2) continue;
        TRY(warn(module, input->name ? input->name : "", name, count));
        char *copy;
        const bool everywhere = count > 2 || d == 0;
        TRY(memory_copy_text(name, &copy));
        for (size_t k = d + 1; k < shape->n_dim; k++)
            if (has_name(shape->dim[k], copy)) drop(shape->dim[k]);
        if (everywhere) drop_everywhere(graph, copy);
        memory_free(copy);
    }
    return NULL;
}

Error *onnx_dimensions_check(IrModule *module, const Onnx__GraphProto *graph) {
    for (size_t i = 0; i < graph->n_input; i++) {
        const Onnx__TensorShapeProto *shape = shape_of(graph->input[i]);
        if (shape) TRY(check_input(module, graph, graph->input[i], shape));
    }
    return NULL;
}

/* ---- names that several inputs share ---- */

typedef struct SharedNames {
    NameMap *first; /* by name: the ValueInfoProto of the first input that has it */
    NameMap *told;
} SharedNames;

static Error *part(IrModule *module, const SharedNames *names, const Onnx__ValueInfoProto *input,
    const Onnx__ValueInfoProto *first, Onnx__TensorShapeProto__Dimension *dimension) {
    if (!name_map_find(names->told, dimension->dim_param)) {
        TRY(name_map_set(names->told, dimension->dim_param, (void *)(uintptr_t)first));
        TRY(ir_module_warn(module,
            "inputs %s and %s: both have a dimension named %s; nothing depends on it, so their "
            "sizes may differ",
            first->name ? first->name : "", input->name ? input->name : "", dimension->dim_param));
    }
    drop(dimension);
    return NULL;
}

static Error *share_input(IrModule *module, const SharedNames *names,
    const Onnx__ValueInfoProto *input, OnnxNames meaning, bool *inout_shared) {
    const Onnx__TensorShapeProto *shape = shape_of(input);
    for (size_t d = 0; shape && d < shape->n_dim; d++) {
        const char *name = onnx_dimension_name(shape->dim[d]);
        if (!name) continue;
        const Onnx__ValueInfoProto *first = name_map_find(names->first, name);
        if (!first) TRY(name_map_set(names->first, name, (void *)(uintptr_t)input));
        if (!first || first == input) continue;
        *inout_shared = true;
        if (meaning == ONNX_NAMES_APART) TRY(part(module, names, input, first, shape->dim[d]));
    }
    return NULL;
}

Error *onnx_dimensions_share(
    IrModule *module, const Onnx__GraphProto *graph, OnnxNames meaning, bool *out_shared) {
    OWN(NameMap, first) = NULL;
    OWN(NameMap, told) = NULL;
    *out_shared = false;
    TRY(name_map_create(&first));
    TRY(name_map_create(&told));
    const SharedNames names = {first, told};
    for (size_t i = 0; i < graph->n_input; i++)
        TRY(share_input(module, &names, graph->input[i], meaning, out_shared));
    return NULL;
}
