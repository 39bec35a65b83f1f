#include "kernels/cuda/library/cuda_cudnn_descriptor.h"

#include "kernels/cuda/runtime/cuda_scope.h"

enum { REASON_MAX = 256, CATEGORY = 1000 };

Error *cuda_cudnn_check(CudaDevice *device, int status, const char *function) {
    char reason[REASON_MAX] = "";
    if (status == CUDNN_STATUS_SUCCESS) return NULL;
    const char *name = device->api->cudnnGetErrorString(status);
    device->api->cudnnGetLastErrorString(reason, sizeof reason);
    reason[REASON_MAX - 1] = '\0';
    const char *device_name = device->base.name, *separator = reason[0] ? ": " : "";
    const int category = status / CATEGORY * CATEGORY;
    if (category == CUDNN_STATUS_NOT_SUPPORTED ||
        category == CUDNN_STATUS_NOT_INITIALIZED / CATEGORY * CATEGORY)
        FAIL(UNSUPPORTED, "%s: %s: %s%s%s", device_name, function, name, separator, reason);
    if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
        status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
        FAIL(EXHAUSTED, "%s: %s: %s%s%s", device_name, function, name, separator, reason);
    TRY(cuda_check_context(device, function));
    FAIL(FAILED, "%s: %s: %s%s%s", device_name, function, name, separator, reason);
}

void cuda_cudnn_descriptor_destroy_all(CudaCudnnPile *pile) {
    while (pile->count > 0)
        (void)pile->device->api->cudnnBackendDestroyDescriptor(pile->descriptors[--pile->count]);
}

Error *cuda_cudnn_descriptor_make(CudaCudnnPile *pile, int type, CudnnDescriptor *out) {
    CudaDevice *device = pile->device;
    CudnnDescriptor made;
    if (pile->count == CUDA_CUDNN_PILE_MAX) FAIL(INTERNAL, "too many descriptors of cuDNN");
    CUDNN_TRY(device, cudnnBackendCreateDescriptor, type, &made);
    *out = pile->descriptors[pile->count++] = made;
    return NULL;
}

Error *cuda_cudnn_descriptor_set(CudaDevice *device, CudnnDescriptor descriptor, int attribute,
    int type, int64_t count, const void *values) {
    CUDNN_TRY(device, cudnnBackendSetAttribute, descriptor, attribute, type, count, values);
    return NULL;
}

Error *cuda_cudnn_descriptor_set_choice(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, int type, int value) {
    return cuda_cudnn_descriptor_set(device, descriptor, attribute, type, 1, &value);
}

Error *cuda_cudnn_descriptor_set_int(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, int64_t value) {
    return cuda_cudnn_descriptor_set(device, descriptor, attribute, CUDNN_TYPE_INT64, 1, &value);
}

Error *cuda_cudnn_descriptor_set_other(
    CudaDevice *device, CudnnDescriptor descriptor, int attribute, CudnnDescriptor other) {
    return cuda_cudnn_descriptor_set(
        device, descriptor, attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

Error *cuda_cudnn_descriptor_finalize(CudaDevice *device, CudnnDescriptor descriptor) {
    CUDNN_TRY(device, cudnnBackendFinalize, descriptor);
    return NULL;
}
