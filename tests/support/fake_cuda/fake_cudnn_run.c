/* What a plan of the fake cuDNN computes: in the stream's turn and the simplest way. */
#include <stdlib.h>
#include <string.h>

#include "kernels/tensor/dtype_scalar.h"
#include "tests/support/fake_cuda/fake_cudnn.h"

enum { IDS_MAX = 16, SPATIAL_MAX = 3, TF32_LOST = 0x1fff };
enum { POINTER_ALIGNMENT = 16, WORKSPACE_ALIGNMENT = 256 };

typedef struct Run {
    FakeDescriptor *plan;
    uint64_t addresses[IDS_MAX]; /* by unique id */
    uint64_t workspace;
} Run;

/* One with its values between operations. */
typedef struct Values {
    const Run *run;
    double *of[IDS_MAX];
    bool rounds;
} Values;

/* Three spatial dimensions, missing ones of size 1 first. */
typedef struct Sides {
    FakeDescriptor *x, *w, *y;
    int64_t x_channels, y_channels, groups, channels, filters; /* the last two: of a group */
    int64_t x_size[SPATIAL_MAX], w_size[SPATIAL_MAX], y_size[SPATIAL_MAX];
    int64_t stride[SPATIAL_MAX], dilation[SPATIAL_MAX], pad[SPATIAL_MAX];
} Sides;

static int64_t count_of(const FakeTensor *tensor) {
    int64_t count = 1;
    for (int64_t i = 0; i < tensor->rank; i++) count *= tensor->dims[i];
    return count;
}

/* Of element `index` in the order of the dimensions, which is not that in memory. */
static uint64_t place(const Values *values, const FakeTensor *tensor, int64_t index) {
    int64_t offset = 0;
    for (int64_t i = tensor->rank; i-- > 0 && index > 0; index /= tensor->dims[i])
        offset += index % tensor->dims[i] * tensor->strides[i];
    return values->run->addresses[tensor->id] + (uint64_t)offset * (dtype_bits(tensor->dtype) / 8);
}

static double get(const Values *values, const FakeTensor *tensor, int64_t index) {
    double value = 0;
    if (tensor->is_virtual) return values->of[tensor->id][index];
    (void)dtype_scalar_read(
        tensor->dtype, (const void *)(uintptr_t)place(values, tensor, index), &value);
    return value;
}

static void put(const Values *values, const FakeTensor *tensor, int64_t index, double value) {
    if (tensor->is_virtual)
        values->of[tensor->id][index] = value;
    else
        (void)dtype_scalar_write(
            tensor->dtype, value, (void *)(uintptr_t)place(values, tensor, index));
}

/* A factor, as tensor cores read it. */
static double factor(const Values *values, const FakeTensor *tensor, int64_t index) {
    float value = (float)get(values, tensor, index);
    uint32_t bits;
    if (!values->rounds || tensor->dtype != DTYPE_FLOAT32) return (double)value;
    memcpy(&bits, &value, sizeof bits);
    bits &= ~(uint32_t)TF32_LOST;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void read_sizes(
    const FakeDescriptor *descriptor, int name, int64_t skipped, int64_t missing, int64_t *out) {
    int64_t count;
    const int64_t *values = fake_cudnn_ints(descriptor, name, &count);
    for (int64_t i = 0; i < SPATIAL_MAX; i++)
        out[i] = i < SPATIAL_MAX - (count - skipped) ? missing : values[i - SPATIAL_MAX + count];
}

static Sides sides_of(const FakeDescriptor *operation, bool backward) {
    int64_t rank;
    Sides sides;
#define SIDE(forward_name, backward_name)                                                          \
    fake_cudnn_other(operation,                                                                    \
        backward ? CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_##backward_name                       \
                 : CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_##forward_name,                        \
        0)
    sides.x = SIDE(X, DX);
    sides.w = SIDE(W, W);
    sides.y = SIDE(Y, DY);
    const FakeDescriptor *window = SIDE(CONV_DESC, CONV_DESC);
#undef SIDE
    sides.x_channels = fake_cudnn_ints(sides.x, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank)[1];
    sides.y_channels = fake_cudnn_ints(sides.y, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank)[1];
    sides.channels = fake_cudnn_ints(sides.w, CUDNN_ATTR_TENSOR_DIMENSIONS, &rank)[1];
    sides.groups = sides.x_channels / sides.channels;
    sides.filters = sides.y_channels / sides.groups;
    read_sizes(sides.x, CUDNN_ATTR_TENSOR_DIMENSIONS, 2, 1, sides.x_size);
    read_sizes(sides.w, CUDNN_ATTR_TENSOR_DIMENSIONS, 2, 1, sides.w_size);
    read_sizes(sides.y, CUDNN_ATTR_TENSOR_DIMENSIONS, 2, 1, sides.y_size);
    read_sizes(window, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 0, 1, sides.stride);
    read_sizes(window, CUDNN_ATTR_CONVOLUTION_DILATIONS, 0, 1, sides.dilation);
    read_sizes(window, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0, 0, sides.pad);
    return sides;
}

static int64_t product(const int64_t *sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/* The pixel of the other side that a pixel meets through a position of the kernel; -1: none. */
static int64_t meet(const Sides *sides, int64_t pixel, int64_t position, bool backward) {
    const int64_t *from = backward ? sides->x_size : sides->y_size;
    const int64_t *to = backward ? sides->y_size : sides->x_size;
    int64_t met = 0, step = 1;
    for (int d = SPATIAL_MAX; d-- > 0;) {
        const int64_t shift = position % sides->w_size[d] * sides->dilation[d] - sides->pad[d];
        int64_t at =
            backward ? pixel % from[d] - shift : pixel % from[d] * sides->stride[d] + shift;
        if (backward && (at < 0 || at % sides->stride[d] != 0)) return -1;
        if (backward) at /= sides->stride[d];
        if (at < 0 || at >= to[d]) return -1;
        met += at * step;
        step *= to[d];
        pixel /= from[d];
        position /= sides->w_size[d];
    }
    return met;
}

/* All factors of an operand, in the order of its dimensions; NULL when there is no memory for them.
 */
static double *factors(const Values *values, const FakeTensor *tensor) {
    const int64_t count = count_of(tensor);
    double *all = malloc(((size_t)count + 1) * sizeof *all);
    for (int64_t i = 0; all && i < count; i++) all[i] = factor(values, tensor, i);
    return all;
}

/* others_of: the factors of the side that is given; weights: of w. */
static double sum_at(const Sides *sides, const double *others_of, const double *weights,
    int64_t index, bool backward) {
    const int64_t *size = backward ? sides->x_size : sides->y_size;
    const int64_t *other_size = backward ? sides->y_size : sides->x_size;
    const int64_t plane = index / product(size), kernel = product(sides->w_size);
    const int64_t all = backward ? sides->x_channels : sides->y_channels;
    const int64_t group = plane % all / (backward ? sides->channels : sides->filters);
    const int64_t others = backward ? sides->filters : sides->channels;
    double sum = 0;
    for (int64_t position = 0; position < kernel; position++) {
        const int64_t met = meet(sides, index % product(size), position, backward);
        for (int64_t i = 0; i < others && met >= 0; i++) {
            const int64_t filter = backward ? group * sides->filters + i : plane % all;
            const int64_t channel = backward ? plane % all % sides->channels : i;
            const int64_t from = (plane / all * sides->groups + group) * others + i;
            sum += others_of[from * product(other_size) + met] *
                   weights[(filter * sides->channels + channel) * kernel + position];
        }
    }
    return sum;
}

static double apply_at(const Values *values, const FakeDescriptor *operation, int64_t index) {
    const FakeTensor *x =
        &fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 0)->tensor;
    const double value = get(values, x, index);
    int64_t at = 0, step = 1, rest = index;
    if (!fake_cudnn_get(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
        return value < 0 ? 0 : value;
    const FakeTensor *b =
        &fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 0)->tensor;
    for (int64_t i = x->rank; i-- > 0; rest /= x->dims[i]) {
        if (b->dims[i] == 1) continue;
        at += rest % x->dims[i] * step;
        step *= x->dims[i];
    }
    return value + get(values, b, at);
}

static int convolve(
    Values *values, const Sides *sides, const FakeTensor *to, int64_t count, bool backward) {
    double *others = factors(values, backward ? &sides->y->tensor : &sides->x->tensor);
    double *weights = factors(values, &sides->w->tensor);
    const bool have = others && weights;
    for (int64_t i = 0; have && i < count; i++)
        put(values, to, i, sum_at(sides, others, weights, i, backward));
    free(others);
    free(weights);
    return have ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static int run_operation(Values *values, const FakeDescriptor *operation) {
    const bool pointwise = operation->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR;
    const bool backward =
        operation->type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    Sides sides = {0};
    if (!pointwise) sides = sides_of(operation, backward);
    const FakeTensor *to =
        pointwise  ? &fake_cudnn_other(operation, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 0)->tensor
        : backward ? &sides.x->tensor
                   : &sides.y->tensor;
    const int64_t count = count_of(to);
    if (to->is_virtual) {
        values->of[to->id] = malloc((size_t)count * sizeof(double));
        if (!values->of[to->id]) return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!pointwise) return convolve(values, &sides, to, count, backward);
    for (int64_t i = 0; i < count; i++) put(values, to, i, apply_at(values, operation, i));
    return CUDA_SUCCESS;
}

static const FakeDescriptor *operation(const FakeDescriptor *graph, int64_t index) {
    return fake_cudnn_other(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, index);
}

static const FakeDescriptor *graph_of(const FakeDescriptor *plan) {
    const FakeDescriptor *config =
        fake_cudnn_other(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 0);
    return fake_cudnn_other(config, CUDNN_ATTR_ENGINECFG_ENGINE, 0);
}

static int64_t operation_count(const FakeDescriptor *graph) {
    return fake_cudnn_get(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)->count;
}

static int compute(const Run *run) {
    const FakeDescriptor *graph = graph_of(run->plan);
    const FakeEngine *engine = fake_cudnn_engine(run->plan->engine);
    Values values = {.run = run, .rounds = engine->rounds};
    int result = CUDA_SUCCESS;
    memset(
        (void *)(uintptr_t)run->workspace, 0xee, (size_t)engine->workspace_bytes); /* it is used */
    for (int64_t i = 0; i < operation_count(graph) && result == CUDA_SUCCESS; i++)
        result = run_operation(&values, operation(graph, i));
    for (int i = 0; i < IDS_MAX; i++) free(values.of[i]);
    return result;
}

static int run_plan(FakeCommand *self) {
    Run run;
    memcpy(&run, self->params, sizeof run);
    const int result = self->context->error ? self->context->error : compute(&run);
    fake_cudnn_release(run.plan);
    return result;
}

/* ---- what an execution is given ---- */

static int refuse(const char *reason) { return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, reason); }

static bool has_addresses(const Run *run, const FakeDescriptor *operation) {
    for (int i = 0; i < FAKE_CUDNN_ATTRIBUTES_MAX; i++) {
        const FakeAttribute *attribute = &operation->attributes[i];
        if (!fake_cudnn_refers(operation, attribute)) continue;
        const FakeDescriptor *other = fake_cudnn_other(operation, attribute->name, 0);
        if (other->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR && !other->tensor.is_virtual &&
            run->addresses[other->tensor.id] == 0)
            return false;
    }
    return true;
}

static int fill(Run *run, const FakeDescriptor *pack) {
    const FakeDescriptor *graph = graph_of(run->plan);
    int64_t count;
    const int64_t *ids = fake_cudnn_ints(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, &count);
    const int64_t *pointers = fake_cudnn_ints(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, &count);
    for (int64_t i = 0; i < count; i++) {
        if (ids[i] < 1 || ids[i] >= IDS_MAX) return refuse("a unique id");
        if (pointers[i] % POINTER_ALIGNMENT != 0) return refuse("a misaligned pointer");
        run->addresses[ids[i]] = (uint64_t)pointers[i];
    }
    for (int64_t i = 0; i < operation_count(graph); i++)
        if (!has_addresses(run, operation(graph, i))) return refuse("a missing pointer");
    run->workspace = (uint64_t)fake_cudnn_int(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
    if (fake_cudnn_engine(run->plan->engine)->workspace_bytes &&
        (run->workspace == 0 || run->workspace % WORKSPACE_ALIGNMENT != 0))
        return refuse("the workspace");
    return CUDNN_STATUS_SUCCESS;
}

static int execute(CudnnHandle handle, const Run *run) {
    FakeCommand *command = fake_command_create(sizeof *run);
    if (!command) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    command->run = run_plan;
    command->always = true; /* it gives the plan back */
    memcpy(command->params, run, sizeof *run);
    fake_cudnn_retain(run->plan);
    (void)pthread_mutex_lock(&fake_mutex);
    int result = handle->context->error;
    if (result == CUDA_SUCCESS)
        result = fake_stream_push(handle->stream, command);
    else
        free(command);
    (void)pthread_mutex_unlock(&fake_mutex);
    if (result == CUDA_SUCCESS) return CUDNN_STATUS_SUCCESS;
    fake_cudnn_release(run->plan);
    return CUDNN_STATUS_EXECUTION_FAILED;
}

FAKE_CUDA_FUNCTION cudnnBackendExecute(
    CudnnHandle handle, CudnnDescriptor plan, CudnnDescriptor pack) {
    Run run = {.plan = plan};
    if (!run.plan->finalized || !((FakeDescriptor *)pack)->finalized)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    if (atomic_flag_test_and_set(&handle->busy)) return refuse("a handle in two threads");
    int status = fill(&run, pack);
    if (status == CUDNN_STATUS_SUCCESS) status = execute(handle, &run);
    atomic_flag_clear(&handle->busy);
    return status;
}
