#include "compiler/frontend/nodes/onnx_svm.h"

#include <inttypes.h>

enum { PAIR_WEIGHTS_MAX = 1 << 27, CLASSES_MAX = 4096 };

static size_t list_count(const Onnx__AttributeProto *list) {
    return list ? list->n_ints + list->n_floats + list->n_strings : 0;
}

static size_t count_classes(const OnnxNode *node) {
    return list_count(onnx_attribute_find(node, "classlabels_ints")) +
           list_count(onnx_attribute_find(node, "classlabels_strings"));
}

/* ---- weights of pairs ---- */

typedef struct Machine {
    int64_t classes, pairs, vectors;
    const int64_t *sizes; /* vectors of each class */
    const float *coefficients;
} Machine;

static Error *read_sizes(const OnnxNode *node, Machine *out) {
    const Onnx__AttributeProto *sizes;
    TRY(onnx_attribute_ints(node, "vectors_per_class", &sizes));
    out->classes = (int64_t)count_classes(node);
    if (out->classes < 1 || out->classes > CLASSES_MAX)
        FAIL(UNSUPPORTED, "%" PRId64 " class labels; 1 to %d are read", out->classes, CLASSES_MAX);
    out->pairs = out->classes * (out->classes - 1) / 2;
    for (size_t i = 0; sizes && i < sizes->n_ints; i++) {
        if (sizes->ints[i] < 0 || sizes->ints[i] > PAIR_WEIGHTS_MAX - out->vectors)
            FAIL(INVALID, "vectors_per_class[%zu] is %" PRId64, i, sizes->ints[i]);
        out->vectors += sizes->ints[i];
    }
    if (out->vectors == 0) return NULL;
    if (out->classes < 2) FAIL(INVALID, "support vectors for one class label");
    if (sizes->n_ints != (size_t)out->classes)
        FAIL(INVALID, "vectors_per_class has %zu entries for %" PRId64 " class labels",
            sizes->n_ints, out->classes);
    out->sizes = sizes->ints;
    return NULL;
}

static Error *check_list(const OnnxNode *node, const char *name, int64_t count, bool optional) {
    const size_t found = list_count(onnx_attribute_find(node, name));
    if (found == (uint64_t)count || (optional && found == 0)) return NULL;
    FAIL(INVALID, "attribute %s has %zu entries, not %" PRId64, name, found, count);
}

static Error *read_machine(const OnnxNode *node, Machine *out, bool *out_positive) {
    const Onnx__AttributeProto *given = onnx_attribute_find(node, "coefficients");
    *out = (Machine){0};
    TRY(read_sizes(node, out));
    if (!given || given->n_floats == 0) FAIL(INVALID, "attribute coefficients is missing");
    out->coefficients = given->floats;
    *out_positive = true;
    for (size_t i = 0; i < given->n_floats; i++)
        *out_positive = *out_positive && given->floats[i] >= 0;
    if (out->vectors == 0) return NULL;
    if (out->pairs * out->vectors > PAIR_WEIGHTS_MAX)
        FAIL(UNSUPPORTED,
            "%" PRId64 " pairs of classes with %" PRId64 " support vectors; at most %d weights",
            out->pairs, out->vectors, PAIR_WEIGHTS_MAX);
    TRY(check_list(node, "coefficients", (out->classes - 1) * out->vectors, false));
    TRY(check_list(node, "rho", out->pairs, false));
    TRY(check_list(node, "prob_a", out->pairs, true));
    return check_list(
        node, "prob_b", (int64_t)list_count(onnx_attribute_find(node, "prob_a")), false);
}

static Error *make_matrix(const OnnxNode *node, int64_t rows, int64_t columns, Tensor **out) {
    const int64_t dims[2] = {rows, columns};
    const Shape shape = shape_make(2, dims);
    return tensor_create_on_host(node->import->device, DTYPE_FLOAT32, &shape, out);
}

/* Row j - 1 of the coefficients has what the vectors of class i say against class j, row i what
 * those of class j say against class i. */
static void fill(const Machine *machine, float *weights, float *wins, float *losses) {
    int64_t begin = 0;
    for (int64_t i = 0; i < machine->classes; i++) {
        int64_t other = begin + machine->sizes[i];
        for (int64_t j = i + 1; j < machine->classes; j++) {
            const float *own = machine->coefficients + (j - 1) * machine->vectors;
            const float *against = machine->coefficients + i * machine->vectors;
            for (int64_t m = 0; m < machine->sizes[i]; m++) weights[begin + m] = own[begin + m];
            for (int64_t m = 0; m < machine->sizes[j]; m++) weights[other + m] = against[other + m];
            wins[i] = 1;
            wins[j] = -1;
            losses[j] += 1;
            other += machine->sizes[j];
            weights += machine->vectors;
            wins += machine->classes;
        }
        begin += machine->sizes[i];
    }
}

static void clear(Tensor *tensor) { memset(tensor_data(tensor), 0, tensor_bytes(tensor)); }

Error *onnx_svm_pairs(const OnnxNode *node, SvmPairs *out) {
    OWN(Tensor, weights) = NULL;
    OWN(Tensor, wins) = NULL;
    OWN(Tensor, losses) = NULL;
    Machine machine;
    *out = (SvmPairs){0};
    TRY(read_machine(node, &machine, &out->positive));
    out->vectors = machine.vectors;
    if (machine.vectors == 0) return NULL;
    TRY(make_matrix(node, machine.pairs, machine.vectors, &weights));
    TRY(make_matrix(node, machine.pairs, machine.classes, &wins));
    TRY(make_matrix(node, 1, machine.classes, &losses));
    clear(weights);
    clear(wins);
    clear(losses);
    fill(&machine, tensor_data(weights), tensor_data(wins), tensor_data(losses));
    TRY(ir_constant_tensor(node->import->module, weights, &out->weights));
    TRY(ir_constant_tensor(node->import->module, wins, &out->wins));
    return ir_constant_tensor(node->import->module, losses, &out->losses);
}

/* ---- probabilities of classes ---- */

Error *onnx_svm_couple(const OnnxNode *node, IrVariable *pairs, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "classes", (int64_t)count_classes(node)));
    return ir_build_simple(onnx_at(node), "SvmCouple", attributes, pairs, NULL, NULL, out);
}
