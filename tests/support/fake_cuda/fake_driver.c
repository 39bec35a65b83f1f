/* Devices, contexts, memory, copies and kernels of the fake driver. */
#include "tests/support/fake_cuda/fake_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/planners/cuda_params.h"
#include "tests/support/cuda_shim.h"
#include "tests/support/fake_cuda/fake_fatbin.h"
#include "tests/support/fake_cuda/fake_module.h"

enum { STACK_MAX = 8, GARBAGE = 0xa5, COMPILED_MAX = 4096 };

static struct CUctx_st contexts[FAKE_DEVICES_MAX];
static _Thread_local struct CUctx_st *stack[STACK_MAX];
static _Thread_local int stack_size;

struct CUctx_st *fake_driver_current(void) {
    return stack_size ? stack[stack_size - 1] : NULL;
}

static uint64_t setting(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

/* ---- what tests set and read ---- */

FakeControl fake_control;

int fake_control_fail(const char *function) {
    if (!fake_control.fail_nth) return CUDA_SUCCESS;
    if (fake_control.fail_function && strcmp(fake_control.fail_function, function) != 0)
        return CUDA_SUCCESS;
    if (--fake_control.fail_nth > 0) return CUDA_SUCCESS;
    fake_graph_spoil_all();
    return fake_control.fail_result;
}

static __attribute__((destructor)) void write_counts(void) {
    const char *path = getenv("FAKE_CUDA_COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
#define COUNT(name) #name, (unsigned long long)fake_control.name
    (void)fprintf(file,
        "{\"%s\": %llu, \"%s\": %llu, \"%s\": %llu, \"%s\": %llu, \"%s\": %llu, "
        "\"%s\": %llu, \"%s\": %llu}\n",
        COUNT(kernels), COUNT(captures), COUNT(instantiations), COUNT(updates),
        COUNT(graph_launches), COUNT(mistakes), COUNT(graphs));
#undef COUNT
    (void)fclose(file);
}

/* ---- devices and contexts ---- */

FAKE_CUDA_FUNCTION cuDriverGetVersion(int *out) {
    *out = (int)setting("FAKE_CUDA_VERSION", 13000);
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuInit(unsigned int flags) {
    (void)flags;
    return setting("FAKE_CUDA_DEVICES", 2) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

static const struct {
    int result;
    const char *name, *text;
} results[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "no kernel image is available for execution on the device"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
        "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

FAKE_CUDA_FUNCTION cuGetErrorName(int result, const char **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].result == result) *out = results[i].name;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_CUDA_FUNCTION cuGetErrorString(int result, const char **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        if (results[i].result == result) *out = results[i].text;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

FAKE_CUDA_FUNCTION cuDeviceGetCount(int *out) {
    *out = (int)setting("FAKE_CUDA_DEVICES", 2);
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuDeviceGet(CUdevice *out, int index) {
    if (index < 0 || index >= FAKE_DEVICES_MAX) return CUDA_ERROR_INVALID_DEVICE;
    *out = index;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuDeviceGetName(char *out, int size, CUdevice device) {
    (void)device;
    (void)snprintf(out, (size_t)size, "Fake GPU");
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuDeviceGetAttribute(int *out, int attribute, CUdevice device) {
    (void)device;
    *out = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    if (attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) *out = 1;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuDeviceTotalMem_v2(size_t *out, CUdevice device) {
    (void)device;
    *out = setting("FAKE_CUDA_MEMORY", (uint64_t)256 << 20);
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
    (void)pthread_mutex_lock(&fake_mutex);
    struct CUctx_st *context = &contexts[device];
    if (context->retained++ == 0)
        *context = (struct CUctx_st){.device = device,
            .retained = 1,
            .memory_bytes = setting("FAKE_CUDA_MEMORY", (uint64_t)256 << 20),
            .lag_us = setting("FAKE_CUDA_LAG_US", 0),
            .lose_after = setting("FAKE_CUDA_LOSE_AFTER", 0)};
    *out = context;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    (void)pthread_mutex_lock(&fake_mutex);
    contexts[device].retained--;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuCtxPushCurrent_v2(CUcontext context) {
    if (!context || stack_size == STACK_MAX) return CUDA_ERROR_INVALID_CONTEXT;
    stack[stack_size++] = context;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuCtxPopCurrent_v2(CUcontext *out) {
    if (!stack_size) return CUDA_ERROR_INVALID_CONTEXT;
    *out = stack[--stack_size];
    return CUDA_SUCCESS;
}

/* ---- memory ---- */

FAKE_CUDA_FUNCTION cuMemGetInfo_v2(size_t *out_free, size_t *out_total) {
    FAKE_CUDA_CALL(context);
    *out_total = context->memory_bytes;
    *out_free = context->memory_bytes - context->used_bytes;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
    FAKE_CUDA_CALL(context);
    bool right = props->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                 props->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                 props->location.id == context->device;
    *out = (CUmemoryPool)context; /* one a context */
    FAKE_CUDA_RETURN(right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_CUDA_FUNCTION cuMemPoolDestroy(CUmemoryPool pool) {
    (void)pool;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
    (void)pool;
    (void)value;
    return attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* It keeps nothing: all that is reserved is used. */
FAKE_CUDA_FUNCTION cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *out) {
    (void)attribute;
    memcpy(out, &((struct CUctx_st *)pool)->used_bytes, sizeof(uint64_t));
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuMemPoolTrimTo(CUmemoryPool pool, size_t keep_bytes) {
    (void)pool;
    (void)keep_bytes;
    return CUDA_SUCCESS;
}

static int run_set(FakeCommand *self) {
    (void)pthread_mutex_lock(&fake_mutex);
    bool held = fake_memory_holds(self->context, self->to, self->size);
    (void)pthread_mutex_unlock(&fake_mutex);
    if (!held) return CUDA_ERROR_ILLEGAL_ADDRESS;
    memset((void *)(uintptr_t)self->to, (unsigned char)self->value, self->size);
    return CUDA_SUCCESS;
}

static int run_free(FakeCommand *self) {
    (void)pthread_mutex_lock(&fake_mutex);
    bool freed = fake_memory_free(self->context, self->to);
    (void)pthread_mutex_unlock(&fake_mutex);
    return freed ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

static int push_set(CUstream stream, uint64_t to, unsigned char value, size_t size) {
    FakeCommand *command = fake_command_create(0);
    if (!command) return CUDA_ERROR_OUT_OF_MEMORY;
    command->run = run_set;
    command->to = to;
    command->size = size;
    command->value = value;
    return fake_stream_push(stream, command);
}

static int run_set_words(FakeCommand *self) {
    (void)pthread_mutex_lock(&fake_mutex);
    bool held = fake_memory_holds(self->context, self->to, self->size * sizeof(uint32_t));
    (void)pthread_mutex_unlock(&fake_mutex);
    if (!held) return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (uint64_t i = 0; i < self->size; i++) ((uint32_t *)(uintptr_t)self->to)[i] = self->value;
    return CUDA_SUCCESS;
}

/* Memory that nobody has cleared shows. */
FAKE_CUDA_FUNCTION cuMemAllocFromPoolAsync(
    CUdeviceptr *out, size_t size, CUmemoryPool pool, CUstream stream) {
    FAKE_CUDA_CALL(context);
    if (pool != (CUmemoryPool)context || size == 0) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    uint64_t address = fake_memory_alloc(context, size);
    if (!address) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    *out = address;
    FAKE_CUDA_RETURN(push_set(stream, address, GARBAGE, size));
}

FAKE_CUDA_FUNCTION cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    (void)pthread_mutex_lock(&fake_mutex);
    FakeCommand *command = fake_command_create(0);
    if (!command) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    command->run = run_free;
    command->to = address;
    command->always = true;
    FAKE_CUDA_RETURN(fake_stream_push(stream, command));
}

FAKE_CUDA_FUNCTION cuMemsetD8Async(
    CUdeviceptr to, unsigned char value, size_t size, CUstream stream) {
    FAKE_CUDA_CALL(context);
    (void)context;
    FAKE_CUDA_RETURN(push_set(stream, to, value, size));
}

FAKE_CUDA_FUNCTION cuMemsetD32Async(
    CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
    FAKE_CUDA_CALL(context);
    (void)context;
    if (to % sizeof value != 0) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    FakeCommand *command = fake_command_create(0);
    if (!command) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    command->run = run_set_words;
    command->capturable = true;
    command->to = to;
    command->size = count;
    command->value = value;
    FAKE_CUDA_RETURN(fake_stream_push(stream, command));
}

FAKE_CUDA_FUNCTION cuMemHostAlloc(void **out, size_t size, unsigned int flags) {
    FAKE_CUDA_CALL(context);
    (void)context;
    (void)flags;
    *out = fake_memory_pin(size);
    FAKE_CUDA_RETURN(*out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

FAKE_CUDA_FUNCTION cuMemFreeHost(void *block) {
    (void)pthread_mutex_lock(&fake_mutex);
    FAKE_CUDA_RETURN(fake_memory_unpin(block) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

FAKE_CUDA_FUNCTION cuPointerGetAttribute(void *out, int attribute, CUdeviceptr pointer) {
    FAKE_CUDA_CALL(context);
    (void)context;
    bool known = fake_memory_is_pinned((const void *)(uintptr_t)pointer, 1);
    if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !known)
        FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    *(unsigned int *)out = CU_MEMORYTYPE_HOST;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

/* ---- copies ---- */

static int run_copy(FakeCommand *self) {
    (void)pthread_mutex_lock(&fake_mutex);
    bool held = (!self->to || fake_memory_holds(self->context, self->to, self->size)) &&
                (!self->from || fake_memory_holds(self->context, self->from, self->size));
    (void)pthread_mutex_unlock(&fake_mutex);
    if (!held) return CUDA_ERROR_ILLEGAL_ADDRESS;
    void *to = self->to ? (void *)(uintptr_t)self->to : self->host;
    const void *from = self->from ? (const void *)(uintptr_t)self->from : self->host;
    memmove(to, from, self->size);
    return CUDA_SUCCESS;
}

static int push_copy(CUstream stream, uint64_t to, uint64_t from, void *host, size_t size) {
    if (host && !fake_memory_is_pinned(host, size)) return CUDA_ERROR_INVALID_VALUE;
    FakeCommand *command = fake_command_create(0);
    if (!command) return CUDA_ERROR_OUT_OF_MEMORY;
    command->run = run_copy;
    command->to = to;
    command->from = from;
    command->host = host;
    command->capturable = !host;
    command->size = size;
    return fake_stream_push(stream, command);
}

FAKE_CUDA_FUNCTION cuMemcpyHtoDAsync_v2(
    CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    FAKE_CUDA_CALL(context);
    (void)context;
    FAKE_CUDA_RETURN(push_copy(stream, to, 0, (void *)(uintptr_t)from, size));
}

FAKE_CUDA_FUNCTION cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    FAKE_CUDA_CALL(context);
    (void)context;
    FAKE_CUDA_RETURN(push_copy(stream, 0, from, to, size));
}

FAKE_CUDA_FUNCTION cuMemcpyDtoDAsync_v2(
    CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    FAKE_CUDA_CALL(context);
    (void)context;
    FAKE_CUDA_RETURN(push_copy(stream, to, from, NULL, size));
}

/* ---- kernels ---- */

static struct CUfunc_st {
    const char *name;
    uint64_t params_size;
    FakeModuleRun *compiled; /* NULL: the kernel of that index */
} functions[CUDA_KERNEL_COUNT + COMPILED_MAX] = {
#define CUDA_KERNEL(id, name, Parameters) {#name, sizeof(Parameters), NULL},
#include "kernels/cuda/runtime/cuda_kernels.def"
#undef CUDA_KERNEL
};

static bool is_own(CUmodule module) {
    for (size_t i = 0; i < FAKE_DEVICES_MAX; i++)
        if (module == (CUmodule)&contexts[i]) return true;
    return false;
}

FAKE_CUDA_FUNCTION cuModuleLoadData(CUmodule *out, const void *image) {
    FAKE_CUDA_CALL(context);
    if (fake_module_is(image)) FAKE_CUDA_RETURN(fake_module_load(image, out));
    if (memcmp(image, FAKE_FATBIN_IMAGE, sizeof FAKE_FATBIN_IMAGE) != 0)
        FAKE_CUDA_RETURN(CUDA_ERROR_NO_BINARY_FOR_GPU);
    *out = (CUmodule)context;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuModuleUnload(CUmodule module) {
    return is_own(module) ? CUDA_SUCCESS : fake_module_unload(module);
}

/* Handles of compiled functions stay taken: nobody uses one of an unloaded module by accident. */
static int add_compiled(CUmodule module, const char *name, CUfunction *out) {
    static size_t count = CUDA_KERNEL_COUNT;
    if (count == sizeof functions / sizeof functions[0]) return CUDA_ERROR_OUT_OF_MEMORY;
    struct CUfunc_st *function = &functions[count];
    int result = fake_module_find(module, name, &function->compiled, &function->params_size);
    if (result != CUDA_SUCCESS) return result;
    count++;
    *out = function;
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
    FAKE_CUDA_CALL(context);
    (void)context;
    if (!is_own(module)) FAKE_CUDA_RETURN(add_compiled(module, name, out));
    for (size_t i = 0; i < CUDA_KERNEL_COUNT; i++)
        if (strcmp(functions[i].name, name) == 0) {
            *out = &functions[i];
            FAKE_CUDA_RETURN(CUDA_SUCCESS);
        }
    FAKE_CUDA_RETURN(CUDA_ERROR_NOT_FOUND);
}

FAKE_CUDA_FUNCTION cuFuncSetAttribute(CUfunction function, int attribute, int value) {
    (void)function;
    (void)attribute;
    (void)value;
    return CUDA_SUCCESS;
}

static int run_kernel(FakeCommand *self) {
    struct CUctx_st *context = self->context;
    (void)pthread_mutex_lock(&fake_mutex);
    context->launches++;
    bool fails = context->lose_after && context->launches >= context->lose_after;
    (void)pthread_mutex_unlock(&fake_mutex);
    if (fails) return CUDA_ERROR_LAUNCH_FAILED;
    for (uint64_t i = 0; self->compiled && i < self->blocks[0]; i++)
        self->compiled(self->params, i, self->blocks[0]);
    if (self->compiled) return CUDA_SUCCESS;
    CudaGrid grid = {.shared_bytes = self->shared_bytes};
    memcpy(grid.blocks, self->blocks, sizeof grid.blocks);
    memcpy(grid.threads, self->threads, sizeof grid.threads);
    cuda_shim_run((CudaKernelId)self->kernel, &grid, self->params, self->size, false);
    return CUDA_SUCCESS;
}

FAKE_CUDA_FUNCTION cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
    unsigned int shared_bytes, CUstream stream, void **parameters, void **extra) {
    FAKE_CUDA_CALL(context);
    (void)context;
    if (extra) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_VALUE);
    FakeCommand *command = fake_command_create(function->params_size);
    if (!command) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    command->run = run_kernel;
    command->capturable = true;
    fake_control.kernels++;
    command->kernel = (int)(function - functions);
    command->compiled = function->compiled;
    command->size = function->params_size;
    memcpy(command->params, parameters[0], function->params_size);
    memcpy(command->blocks, (uint32_t[]){grid_x, grid_y, grid_z}, sizeof command->blocks);
    memcpy(command->threads, (uint32_t[]){block_x, block_y, block_z}, sizeof command->threads);
    command->shared_bytes = shared_bytes;
    FAKE_CUDA_RETURN(fake_stream_push(stream, command));
}
