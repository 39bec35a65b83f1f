/* libcudnn.so.9 for the fake driver: its descriptors. Attributes have the types and counts of the
 * real one's, and are refused as it refuses them. */
#include "tests/support/fake_cuda/fake_cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Rule {
    int descriptor, attribute, type;
    int64_t count_min, count_max;
    bool needed;
} Rule;

enum { ANY_MAX = FAKE_CUDNN_VALUES_MAX };

#define TENSOR(name, ...)                                                                          \
    { CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_##name, __VA_ARGS__ }
#define WINDOW(name, ...)                                                                          \
    { CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_##name, __VA_ARGS__ }
#define FORWARD(name, ...)                                                                         \
    {                                                                                              \
        CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,                                    \
            CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_##name, __VA_ARGS__                           \
    }
#define BACKWARD(name, ...)                                                                        \
    {                                                                                              \
        CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,                              \
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_##name, __VA_ARGS__                          \
    }
#define POINTWISE(name, ...)                                                                       \
    {                                                                                              \
        CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_##name,       \
            __VA_ARGS__                                                                            \
    }
#define ONE_INT CUDNN_TYPE_INT64, 1, 1
#define ONE_FLOAT CUDNN_TYPE_FLOAT, 1, 1
#define ONE_OTHER CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, 1
#define ONE_TYPE CUDNN_TYPE_DATA_TYPE, 1, 1

static const Rule rules[] = {
    TENSOR(DATA_TYPE, ONE_TYPE, true),
    TENSOR(DIMENSIONS, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    TENSOR(STRIDES, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    TENSOR(UNIQUE_ID, ONE_INT, true),
    TENSOR(BYTE_ALIGNMENT, ONE_INT, true),
    TENSOR(IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false),
    WINDOW(COMP_TYPE, ONE_TYPE, true),
    WINDOW(CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1, true),
    WINDOW(SPATIAL_DIMS, ONE_INT, true),
    WINDOW(DILATIONS, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    WINDOW(FILTER_STRIDES, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    WINDOW(PRE_PADDINGS, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    WINDOW(POST_PADDINGS, CUDNN_TYPE_INT64, 1, ANY_MAX, true),
    FORWARD(CONV_DESC, ONE_OTHER, true),
    FORWARD(X, ONE_OTHER, true),
    FORWARD(W, ONE_OTHER, true),
    FORWARD(Y, ONE_OTHER, true),
    FORWARD(ALPHA, ONE_FLOAT, true),
    FORWARD(BETA, ONE_FLOAT, true),
    BACKWARD(CONV_DESC, ONE_OTHER, true),
    BACKWARD(DX, ONE_OTHER, true),
    BACKWARD(W, ONE_OTHER, true),
    BACKWARD(DY, ONE_OTHER, true),
    BACKWARD(ALPHA, ONE_FLOAT, true),
    BACKWARD(BETA, ONE_FLOAT, true),
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1,
        true},
    {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, ONE_TYPE, true},
    POINTWISE(PW_DESCRIPTOR, ONE_OTHER, true),
    POINTWISE(XDESC, ONE_OTHER, true),
    POINTWISE(BDESC, ONE_OTHER, false),
    POINTWISE(YDESC, ONE_OTHER, true),
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, ANY_MAX, true},
    {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
        1, 1, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, ONE_OTHER, true},
    {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1,
        true},
    {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE, ONE_OTHER, true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, ONE_OTHER,
        true},
    {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
        1, 1, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1,
        ANY_MAX, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
        CUDNN_TYPE_VOID_PTR, 1, ANY_MAX, true},
    {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
        1, 1, true},
};
enum { RULE_COUNT = sizeof rules / sizeof rules[0], REASON_MAX = 128 };

static _Thread_local char last_reason[REASON_MAX];

int fake_cudnn_refuse(int status, const char *reason) {
    (void)snprintf(last_reason, sizeof last_reason, "%s", reason);
    return status;
}

/* ---- the library ---- */

FAKE_CUDA_EXPORT size_t cudnnGetVersion(void) { return FAKE_CUDNN_VERSION; }
FAKE_CUDA_EXPORT const char *cudnnGetErrorString(int status) {
    return status == CUDNN_STATUS_BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_other";
}
FAKE_CUDA_EXPORT void cudnnGetLastErrorString(char *out, size_t size) {
    (void)snprintf(out, size, "%s", last_reason);
    last_reason[0] = '\0';
}

/* FAKE_CUDNN_STATUS: what it answers instead of making one. */
FAKE_CUDA_FUNCTION cudnnCreate(CudnnHandle *out) {
    const char *status = getenv("FAKE_CUDNN_STATUS");
    if (status) return fake_cudnn_refuse((int)strtol(status, NULL, 10), "as the environment says");
    if (!fake_driver_current()) return CUDNN_STATUS_NOT_INITIALIZED;
    *out = calloc(1, sizeof **out);
    if (!*out) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    (*out)->context = fake_driver_current();
    return CUDNN_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cudnnDestroy(CudnnHandle handle) {
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cudnnSetStream(CudnnHandle handle, CUstream stream) {
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

/* ---- attributes ---- */

static size_t size_of(int type) {
    if (type == CUDNN_TYPE_BOOLEAN) return sizeof(bool);
    if (type == CUDNN_TYPE_FLOAT) return sizeof(float);
    bool wide = type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_HANDLE ||
                type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
    return wide ? sizeof(int64_t) : sizeof(int);
}

static const Rule *rule_of(int descriptor, int attribute) {
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].descriptor == descriptor && rules[i].attribute == attribute) return &rules[i];
    return NULL;
}

const FakeAttribute *fake_cudnn_get(const FakeDescriptor *descriptor, int name) {
    for (int i = 0; i < FAKE_CUDNN_ATTRIBUTES_MAX; i++)
        if (descriptor->attributes[i].count && descriptor->attributes[i].name == name)
            return &descriptor->attributes[i];
    return NULL;
}

const int64_t *fake_cudnn_ints(const FakeDescriptor *descriptor, int name, int64_t *out_count) {
    const FakeAttribute *attribute = fake_cudnn_get(descriptor, name);
    *out_count = attribute->count;
    return (const int64_t *)(const void *)attribute->values;
}

int64_t fake_cudnn_int(const FakeDescriptor *descriptor, int name) {
    int64_t count;
    return fake_cudnn_ints(descriptor, name, &count)[0];
}

int fake_cudnn_choice(const FakeDescriptor *descriptor, int name) {
    int value;
    memcpy(&value, fake_cudnn_get(descriptor, name)->values, sizeof value);
    return value;
}

FakeDescriptor *fake_cudnn_other(const FakeDescriptor *descriptor, int name, int64_t index) {
    FakeDescriptor *other;
    memcpy(&other, fake_cudnn_get(descriptor, name)->values + (size_t)index * sizeof other,
        sizeof other);
    return other;
}

/* ---- descriptors ---- */

bool fake_cudnn_refers(const FakeDescriptor *descriptor, const FakeAttribute *attribute) {
    const Rule *rule = attribute->count ? rule_of(descriptor->type, attribute->name) : NULL;
    return rule && rule->type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
}

void fake_cudnn_retain(FakeDescriptor *descriptor) {
    (void)atomic_fetch_add(&descriptor->references, 1);
}

void fake_cudnn_release(FakeDescriptor *descriptor) {
    if (atomic_fetch_sub(&descriptor->references, 1) != 1) return;
    for (int i = 0; i < FAKE_CUDNN_ATTRIBUTES_MAX; i++) {
        const FakeAttribute *attribute = &descriptor->attributes[i];
        if (!fake_cudnn_refers(descriptor, attribute)) continue;
        for (int64_t j = 0; j < attribute->count; j++)
            fake_cudnn_release(fake_cudnn_other(descriptor, attribute->name, j));
    }
    free(descriptor);
}

FAKE_CUDA_FUNCTION cudnnBackendCreateDescriptor(int type, CudnnDescriptor *out) {
    FakeDescriptor *made = calloc(1, sizeof *made);
    if (!made) return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    atomic_init(&made->references, 1);
    made->type = type;
    *out = made;
    return CUDNN_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cudnnBackendDestroyDescriptor(CudnnDescriptor descriptor) {
    fake_cudnn_release(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

static bool are_finalized(const void *values, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        FakeDescriptor *other;
        memcpy(&other, (const uint8_t *)values + (size_t)i * sizeof other, sizeof other);
        if (!other->finalized) return false;
        fake_cudnn_retain(other);
    }
    return true;
}

FAKE_CUDA_FUNCTION cudnnBackendSetAttribute(
    CudnnDescriptor base, int name, int type, int64_t count, const void *values) {
    FakeDescriptor *descriptor = base;
    const Rule *rule = rule_of(descriptor->type, name);
    FakeAttribute *to = NULL;
    if (descriptor->finalized)
        return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "set after it was finalized");
    if (!rule) return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "no such attribute");
    if (type != rule->type) return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (count < rule->count_min || count > rule->count_max)
        return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "elementCount");
    if (fake_cudnn_get(descriptor, name))
        return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "set twice");
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && !are_finalized(values, count))
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    for (int i = FAKE_CUDNN_ATTRIBUTES_MAX; i-- > 0;)
        if (!descriptor->attributes[i].count) to = &descriptor->attributes[i];
    to->name = name;
    to->count = count;
    memcpy(to->values, values, (size_t)count * size_of(type));
    return CUDNN_STATUS_SUCCESS;
}

FAKE_CUDA_FUNCTION cudnnBackendFinalize(CudnnDescriptor base) {
    FakeDescriptor *descriptor = base;
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].descriptor == descriptor->type && rules[i].needed &&
            !fake_cudnn_get(descriptor, rules[i].attribute))
            return fake_cudnn_refuse(CUDNN_STATUS_BAD_PARAM, "an attribute is missing");
    int status = fake_cudnn_check(descriptor);
    descriptor->finalized = status == CUDNN_STATUS_SUCCESS;
    return status;
}
