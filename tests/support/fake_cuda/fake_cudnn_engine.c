/* The fake cuDNN's engines: which there are for a graph, and what can be asked of them. */
#include <string.h>

#include "tests/support/fake_cuda/fake_cudnn.h"

/* ---- heuristics ---- */

enum { PRECISE, TENSOR_CORE, BY_CHANCE, HUGE, BROKEN, COMPILING, ENGINE_COUNT };

static const FakeEngine engines[ENGINE_COUNT] = {
    [PRECISE] = {.workspace_bytes = 2048,
        .note_count = 1,
        .note = CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP},
    [TENSOR_CORE] = {.workspace_bytes = 4096,
        .note_count = 1,
        .note = CUDNN_NUMERICAL_NOTE_TENSOR_CORE,
        .rounds = true},
    [BY_CHANCE] = {.note_count = 1, .note = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC},
    [HUGE] = {.workspace_bytes = (int64_t)1 << 40},
    [BROKEN] = {.fails = true},
    [COMPILING] = {.compiles = true},
};

const FakeEngine *fake_cudnn_engine(int number) { return &engines[number]; }

static const FakeDescriptor *operation(const FakeDescriptor *graph, int64_t index) {
    return fake_cudnn_other(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, index);
}

static bool is_pointwise(const FakeDescriptor *operation, int mode, bool along_channels) {
    int64_t rank;
    if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) return false;
    const FakeDescriptor *function =
        fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 0);
    if (fake_cudnn_choice(function, CUDNN_ATTR_POINTWISE_MODE) != mode) return false;
    if (mode != CUDNN_POINTWISE_ADD) return true;
    const FakeDescriptor *b = fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0);
    const FakeDescriptor *x = fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0);
    const int64_t *b_dims = fake_cudnn_ints(b, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank);
    const int64_t *x_dims = fake_cudnn_ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank);
    for (int64_t i = 0; i < rank; i++)
        if (b_dims[i] != (along_channels && i != 1 ? 1 : x_dims[i])) return false;
    return true;
}

/* A convolution alone, or: addend, bias, relu, of which only the bias has to be there. */
static bool is_known(const FakeDescriptor *graph) {
    const int64_t count = fake_cudnn_get(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count;
    int64_t at = 1;
    if (count == 1) return true;
    if (operation(graph, 0)->type != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)
        return false;
    if (is_pointwise(operation(graph, at), CUDNN_POINTWISE_ADD, false)) at++;
    if (at == count || !is_pointwise(operation(graph, at++), CUDNN_POINTWISE_ADD, true))
        return false;
    if (at < count && is_pointwise(operation(graph, at), CUDNN_POINTWISE_RELU_FWD, false)) at++;
    return at == count;
}

int64_t fake_cudnn_suggest(const FakeDescriptor *heuristics, int *out_engines) {
    static const int first[] = {BY_CHANCE, COMPILING, HUGE, TENSOR_CORE};
    const FakeDescriptor *graph =
        fake_cudnn_other(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    const int mode = fake_cudnn_choice(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE);
    if (mode == CUDNN_HEUR_MODE_B) return -1; /* not supported */
    if (!is_known(graph)) return 0;
    out_engines[0] = BROKEN;
    out_engines[1] = PRECISE;
    if (mode == CUDNN_HEUR_MODE_FALLBACK) return 2;
    memcpy(out_engines, first, sizeof first);
    return sizeof first / sizeof first[0];
}

/* ---- what can be asked ---- */

static int answer_notes(
    int64_t count, const int *notes, int64_t wanted, int64_t *out_count, void *out) {
    *out_count = count;
    if (count > wanted) count = wanted;
    memcpy(out, notes, (size_t)count * sizeof *notes);
    return CUDNN_STATUS_SUCCESS;
}

static int answer_results(
    const FakeDescriptor *heuristics, int64_t wanted, int64_t *out_count, void *out) {
    int numbers[FAKE_CUDNN_ENGINES_MAX];
    const int64_t count = fake_cudnn_suggest(heuristics, numbers);
    *out_count = wanted == 0 || count < wanted ? count : wanted;
    for (int64_t i = 0; i < count && i < wanted; i++) {
        FakeDescriptor *config;
        memcpy(&config, (uint8_t *)out + (size_t)i * sizeof config, sizeof config);
        if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR) return CUDNN_STATUS_BAD_PARAM;
        config->engine = numbers[i];
        config->finalized = true;
        FakeAttribute *graph = &config->attributes[0]; /* an execution needs it */
        *graph = *fake_cudnn_get(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
        graph->name = CUDNN_ATTR_ENGINECFG_ENGINE;
        fake_cudnn_retain(fake_cudnn_other(config, CUDNN_ATTR_ENGINECFG_ENGINE, 0));
    }
    return CUDNN_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cudnnBackendGetAttribute(
    CudnnDescriptor base, int name, int type, int64_t wanted, int64_t *out_count, void *out) {
    static const int compiles[] = {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION};
    const FakeDescriptor *descriptor = base;
    if (!descriptor->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    const FakeEngine *engine = fake_cudnn_engine(descriptor->engine);
    if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return answer_results(descriptor, wanted, out_count, out);
    if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE)
        return answer_notes(engine->note_count, &engine->note, wanted, out_count, out);
    if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && type == CUDNN_TYPE_BEHAVIOR_NOTE)
        return answer_notes(engine->compiles, compiles, wanted, out_count, out);
    *out_count = 1;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 && wanted == 1)
        memcpy(out, &engine->workspace_bytes, sizeof engine->workspace_bytes);
    else if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        FakeDescriptor *to;
        memcpy(&to, out, sizeof to);
        to->engine = descriptor->engine;
        to->finalized = true;
    } else
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    return CUDNN_STATUS_SUCCESS;
}
