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

/* Makes operators at one place. */
typedef struct Place {
    const OnnxNode *node;
    IrBlock *block;
} Place;

static Error *apply(
    const Place *place, const char *name, IrVariable *a, IrVariable *b, IrVariable **out) {
    return ir_build_simple(ir_at_end(place->block), name, NULL, a, b, NULL, out);
}

static Error *apply_axis(const Place *place, const char *name, int64_t axis, IrVariable *a,
    IrVariable *b, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", axis));
    return ir_build_simple(ir_at_end(place->block), name, attributes, a, b, NULL, out);
}

/* ReduceSum or ReduceMax over an axis; keep: it stays, with one element. */
static Error *reduce(const Place *place, const char *name, IrVariable *tensor, int64_t axis,
    bool keep, IrVariable **out) {
    OWN(Attributes, attributes) = NULL;
    IrVariable *axes;
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "keepdims", keep));
    TRY(onnx_constant_ints(place->node, &axis, 1, &axes));
    return ir_build_simple(ir_at_end(place->block), name, attributes, tensor, axes, NULL, out);
}

/* Index `at` of axis 1, which stays. */
static Error *take_column(const Place *place, IrVariable *tensor, int64_t at, IrVariable **out) {
    IrVariable *index;
    TRY(onnx_constant_ints(place->node, &at, 1, &index));
    return apply_axis(place, "Gather", 1, tensor, index, out);
}

/* [rows, classes, classes]: the probability of class i against class j; turned: of j against i. */
static Error *spread_pairs(
    const Place *place, IrVariable *all, int64_t classes, bool turned, IrVariable **out) {
    OWN(Tensor, tensor) = NULL;
    IrVariable *places;
    const int64_t dims[2] = {classes, classes}, pairs = classes * (classes - 1) / 2;
    const Shape shape = shape_make(2, dims);
    TRY(tensor_create_on_host(place->node->import->device, DTYPE_INT64, &shape, &tensor));
    int64_t *to = tensor_data(tensor);
    for (int64_t i = 0, pair = 0; i < classes; i++) {
        to[i * classes + i] = 2 * pairs; /* the 0 behind both halves */
        for (int64_t j = i + 1; j < classes; j++, pair++) {
            to[i * classes + j] = pair + (turned ? pairs : 0);
            to[j * classes + i] = pair + (turned ? 0 : pairs);
        }
    }
    TRY(ir_constant_tensor(place->node->import->module, tensor, &places));
    return apply_axis(place, "Gather", 1, all, places, out);
}

/* The identity matrix as bools. */
static Error *make_diagonal(const Place *place, int64_t classes, IrVariable **out) {
    OWN(Tensor, tensor) = NULL;
    const int64_t dims[2] = {classes, classes};
    const Shape shape = shape_make(2, dims);
    TRY(tensor_create_on_host(place->node->import->device, DTYPE_BOOL, &shape, &tensor));
    clear(tensor);
    for (int64_t i = 0; i < classes; i++) ((uint8_t *)tensor_data(tensor))[i * classes + i] = 1;
    return ir_constant_tensor(place->node->import->module, tensor, out);
}

/* The matrix of the quadratic form: sums of squares on its diagonal, products beside it. */
static Error *make_form(const Place *place, IrVariable *pairs, int64_t classes, IrVariable **out) {
    IrVariable *one, *zero, *parts[3], **joined, *straight, *turned, *sums, *diagonal, *axis;
    OWN(Attributes, attributes) = NULL;
    const int64_t last = 2;
    TRY(onnx_constant_float0(place->node, 1, DTYPE_FLOAT32, &one));
    TRY(onnx_constant_float0(place->node, 0, DTYPE_FLOAT32, &zero));
    parts[0] = pairs;
    TRY(apply(place, "Sub", one, pairs, &parts[1]));
    TRY(take_column(place, pairs, 0, &parts[2]));
    TRY(apply(place, "Mul", parts[2], zero, &parts[2]));
    TRY(attributes_create(&attributes));
    TRY(attributes_set_int(attributes, "axis", 1));
    TRY(ir_build_operator(ir_at_end(place->block), "Concat", attributes, 3, parts, 1, &joined));
    TRY(spread_pairs(place, joined[0], classes, false, &straight));
    TRY(spread_pairs(place, joined[0], classes, true, &turned));
    TRY(apply(place, "Mul", straight, turned, &straight));
    TRY(apply(place, "Neg", straight, NULL, &straight));
    TRY(apply(place, "Mul", turned, turned, &turned));
    TRY(reduce(place, "ReduceSum", turned, last, false, &sums));
    TRY(onnx_constant_ints(place->node, &last, 1, &axis));
    TRY(apply(place, "Unsqueeze", sums, axis, &sums));
    TRY(make_diagonal(place, classes, &diagonal));
    return ir_build_simple(ir_at_end(place->block), "Where", NULL, diagonal, sums, straight, out);
}

/* The state of one round: p, Q p and p Q p. */
typedef struct Round {
    IrVariable *p, *q_p, *p_q_p;
    IrVariable *one, *two;
} Round;

/* Improves the probability of one class, and keeps the sum of all at 1. */
static Error *improve(
    const Place *place, Round *round, IrVariable *form, int64_t at, int64_t classes) {
    OWN(Tensor, unit) = NULL;
    IrVariable *row, *own, *q_p, *step, *grown, *moved, *selected;
    const int64_t axis = 1;
    IrVariable *axes;
    TRY(make_matrix(place->node, 1, classes, &unit));
    clear(unit);
    ((float *)tensor_data(unit))[at] = 1;
    TRY(ir_constant_tensor(place->node->import->module, unit, &selected));
    TRY(onnx_constant_ints(place->node, &axis, 1, &axes));
    TRY(take_column(place, form, at, &row));
    TRY(apply(place, "Squeeze", row, axes, &row));
    TRY(take_column(place, row, at, &own));
    TRY(take_column(place, round->q_p, at, &q_p));
    TRY(apply(place, "Sub", round->p_q_p, q_p, &step));
    TRY(apply(place, "Div", step, own, &step));
    TRY(apply(place, "Add", step, round->one, &grown));
    /* p Q p: (p Q p + step (step Q_ii + 2 (Q p)_i)) / (1 + step)^2 */
    TRY(apply(place, "Mul", step, own, &moved));
    TRY(apply(place, "Mul", q_p, round->two, &q_p));
    TRY(apply(place, "Add", moved, q_p, &moved));
    TRY(apply(place, "Mul", moved, step, &moved));
    TRY(apply(place, "Add", round->p_q_p, moved, &moved));
    TRY(apply(place, "Div", moved, grown, &moved));
    TRY(apply(place, "Div", moved, grown, &round->p_q_p));
    TRY(apply(place, "Mul", step, row, &row));
    TRY(apply(place, "Add", round->q_p, row, &row));
    TRY(apply(place, "Div", row, grown, &round->q_p));
    TRY(apply(place, "Mul", step, selected, &selected));
    TRY(apply(place, "Add", round->p, selected, &selected));
    return apply(place, "Div", selected, grown, &round->p);
}

/* One round; *out_again: whether any row has changed. */
static Error *fill_round(const Place *place, IrVariable *form, IrVariable *before, int64_t classes,
    IrVariable **out_p, IrVariable **out_again) {
    Round round = {.p = before};
    IrVariable *axes, *wide, *error, *limit, *far, *count, *zero;
    const int64_t axis = 1;
    TRY(onnx_constant_float0(place->node, 1, DTYPE_FLOAT32, &round.one));
    TRY(onnx_constant_float0(place->node, 2, DTYPE_FLOAT32, &round.two));
    TRY(onnx_constant_float0(place->node, 0, DTYPE_FLOAT32, &zero));
    TRY(onnx_constant_float0(
        place->node, (double)(0.005f / (float)classes), DTYPE_FLOAT32, &limit));
    TRY(onnx_constant_ints(place->node, &axis, 1, &axes));
    TRY(apply(place, "Unsqueeze", before, axes, &wide));
    TRY(apply(place, "Mul", form, wide, &wide));
    TRY(reduce(place, "ReduceSum", wide, 2, false, &round.q_p));
    TRY(apply(place, "Mul", before, round.q_p, &error));
    TRY(reduce(place, "ReduceSum", error, 1, true, &round.p_q_p));
    TRY(apply(place, "Sub", round.q_p, round.p_q_p, &error));
    TRY(apply(place, "Abs", error, NULL, &error));
    TRY(reduce(place, "ReduceMax", error, 1, true, &error));
    TRY(apply(place, "Less", error, limit, &far));
    TRY(apply(place, "Not", far, NULL, &far));
    for (int64_t i = 0; i < classes; i++) TRY(improve(place, &round, form, i, classes));
    TRY(ir_build_simple(ir_at_end(place->block), "Where", NULL, far, round.p, before, out_p));
    TRY(ir_build_cast(ir_at_end(place->block), far, DTYPE_FLOAT32, &count));
    TRY(reduce(place, "ReduceSum", count, 0, true, &count));
    return apply(place, "Greater", count, zero, out_again);
}

/* Each class begins with the same probability in each row. */
static Error *make_start(const Place *place, IrVariable *pairs, int64_t classes, IrVariable **out) {
    OWN(Tensor, even) = NULL;
    IrVariable *column, *zero, *constant;
    TRY(make_matrix(place->node, 1, classes, &even));
    for (int64_t i = 0; i < classes; i++) ((float *)tensor_data(even))[i] = 1.0f / (float)classes;
    TRY(ir_constant_tensor(place->node->import->module, even, &constant));
    TRY(onnx_constant_float0(place->node, 0, DTYPE_FLOAT32, &zero));
    TRY(take_column(place, pairs, 0, &column));
    TRY(apply(place, "Mul", column, zero, &column));
    return apply(place, "Add", column, constant, out);
}

static Error *make_flag(const Place *place, IrVariable **out) {
    OWN(Tensor, tensor) = NULL;
    const int64_t dims[2] = {1, 1};
    const Shape shape = shape_make(2, dims);
    TRY(tensor_create_on_host(place->node->import->device, DTYPE_BOOL, &shape, &tensor));
    *(uint8_t *)tensor_data(tensor) = 1;
    return ir_constant_tensor(place->node->import->module, tensor, out);
}

Error *onnx_svm_couple(const OnnxNode *node, IrVariable *pairs, IrVariable **out) {
    enum { ROUNDS_MAX = 100 };
    const int64_t classes = (int64_t)count_classes(node);
    Place place = {node, node->scope->block};
    IrVariable *form, *start, *rounds, *condition, *again, *p;
    IrLoop loop;
    TRY(make_form(&place, pairs, classes, &form));
    TRY(make_start(&place, pairs, classes, &start));
    TRY(ir_constant_int(node->import->module, ROUNDS_MAX, &rounds));
    TRY(make_flag(&place, &condition));
    TRY(ir_build_loop(onnx_at(node), "coupling", rounds, condition, 1, &start, NULL, &loop));
    place.block = loop.body;
    TRY(fill_round(&place, form, loop.carried[0], classes, &p, &again));
    TRY(ir_build_loop_end(&loop, again, &p));
    *out = loop.results[0];
    return NULL;
}
