#include "kernels/cuda/driver/cuda_nvrtc.h"

#include <stdio.h>

#include "base/allocator.h"
#include "kernels/cuda/driver/cuda_embedded.h"

enum {
    ARCHITECTURES_MAX = 256,
    HEADERS_MAX = 64,
    IMAGE_BYTES_MAX = 64 << 20, /* a group's is some hundred thousand at most */
    LOG_BYTES_MAX = 1 << 20,
};

/* Flags beside the architecture. Those that change bits are nvcc's; the last two let the compiler
 * accept headers that a C compiler reads, too. */
static const char *const flags[] = {"--std=c++17", "--fmad=false", "--prec-div=true",
    "--prec-sqrt=true", "--ftz=false", "--device-int128", "--device-as-default-execution-space"};
enum { FLAG_COUNT = sizeof flags / sizeof flags[0] };

static Error *check(const CudaSymbols *api, int result, const char *function) {
    if (result == NVRTC_SUCCESS) return NULL;
    if (result == NVRTC_ERROR_OUT_OF_MEMORY)
        FAIL(OUT_OF_MEMORY, "%s: %s", function, api->nvrtcGetErrorString(result));
    FAIL(FAILED, "%s: %s", function, api->nvrtcGetErrorString(result));
}
#define NVRTC_TRY(api, function, ...) TRY(check((api), (api)->function(__VA_ARGS__), #function))

/* The highest architecture that the library supports and the GPU runs; 0: none. */
static Error *find_architecture(const CudaSymbols *api, int sm, int *out) {
    int count = 0, known[ARCHITECTURES_MAX], best = 0;
    NVRTC_TRY(api, nvrtcGetNumSupportedArchs, &count);
    if (count < 0 || count > ARCHITECTURES_MAX)
        FAIL(UNSUPPORTED, "NVRTC knows %d architectures; %d at most", count, ARCHITECTURES_MAX);
    NVRTC_TRY(api, nvrtcGetSupportedArchs, known);
    for (int i = 0; i < count; i++)
        if (known[i] <= sm && known[i] > best) best = known[i];
    *out = best;
    return NULL;
}

Error *cuda_nvrtc_open(int sm, int driver_version, CudaNvrtc *out) {
    const CudaSymbols *api = cuda_symbols_get();
    int major = 0, minor = 0, best = 0;
    TRY(cuda_symbols_load(CUDA_LIBRARY_NVRTC));
    NVRTC_TRY(api, nvrtcVersion, &major, &minor);
    TRY(find_architecture(api, sm, &best));
    if (best == 0) FAIL(UNSUPPORTED, "NVRTC %d.%d knows nothing that SM %d runs", major, minor, sm);
    /* a driver runs machine code of its own major version, and PTX that is not newer than the
     * driver */
    if (major > driver_version / 1000 || (best != sm && 1000 * major + 10 * minor > driver_version))
        FAIL(UNSUPPORTED, "NVRTC %d.%d is newer than the driver's CUDA %d.%d", major, minor,
            driver_version / 1000, driver_version % 1000 / 10);
    *out = (CudaNvrtc){api, best, best == sm};
    return NULL;
}

static Error *read_log(const CudaNvrtc *nvrtc, NvrtcProgram program, TextBuilder *out) {
    const CudaSymbols *api = nvrtc->api;
    size_t size = 0;
    void *block;
    NVRTC_TRY(api, nvrtcGetProgramLogSize, program, &size);
    if (size > LOG_BYTES_MAX) FAIL(FAILED, "NVRTC: %zu bytes of messages", size);
    TRY(memory_alloc(size + 1, 1, &block));
    Error *error = check(api, api->nvrtcGetProgramLog(program, block), "nvrtcGetProgramLog");
    if (!error) text_append(out, block);
    memory_free(block);
    return error ? error : text_builder_check(out);
}

static Error *take_image(const CudaNvrtc *nvrtc, NvrtcProgram program, CudaImage *out) {
    const CudaSymbols *api = nvrtc->api;
    size_t size = 0;
    void *block;
    if (nvrtc->assembled)
        NVRTC_TRY(api, nvrtcGetCUBINSize, program, &size);
    else
        NVRTC_TRY(api, nvrtcGetPTXSize, program, &size);
    if (size == 0 || size > IMAGE_BYTES_MAX) FAIL(FAILED, "NVRTC: an image of %zu bytes", size);
    TRY(memory_alloc(size + 1, 1, &block));
    Error *error = nvrtc->assembled
                       ? check(api, api->nvrtcGetCUBIN(program, block), "nvrtcGetCUBIN")
                       : check(api, api->nvrtcGetPTX(program, block), "nvrtcGetPTX");
    if (error) {
        memory_free(block);
        return error;
    }
    *out = (CudaImage){block, size};
    return NULL;
}

static Error *compile(
    const CudaNvrtc *nvrtc, NvrtcProgram program, CudaImage *out, TextBuilder *out_log) {
    char architecture[40];
    const char *options[FLAG_COUNT + 1] = {architecture};
    for (int i = 0; i < FLAG_COUNT; i++) options[i + 1] = flags[i];
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=%s_%d",
        nvrtc->assembled ? "sm" : "compute", nvrtc->sm);
    int result = nvrtc->api->nvrtcCompileProgram(program, FLAG_COUNT + 1, options);
    if (result != NVRTC_SUCCESS && result != NVRTC_ERROR_COMPILATION)
        return check(nvrtc->api, result, "nvrtcCompileProgram");
    TRY(read_log(nvrtc, program, out_log));
    if (result != NVRTC_SUCCESS) FAIL(FAILED, "NVRTC: %s", text_builder_get(out_log));
    return take_image(nvrtc, program, out);
}

Error *cuda_nvrtc_compile(const CudaNvrtc *nvrtc, const char *name, const char *source,
    CudaImage *out, TextBuilder *out_log) {
    const char *names[HEADERS_MAX], *texts[HEADERS_MAX];
    NvrtcProgram program = NULL;
    TextBuilder OWN_TEXT(log) = {0};
    int count = 0;
    for (; cuda_embedded[count].name; count++) {
        if (count == HEADERS_MAX) FAIL(INTERNAL, "more than %d headers", HEADERS_MAX);
        names[count] = cuda_embedded[count].name;
        texts[count] = cuda_embedded[count].text;
    }
    NVRTC_TRY(nvrtc->api, nvrtcCreateProgram, &program, source, name, count, texts, names);
    Error *error = compile(nvrtc, program, out, out_log ? out_log : &log);
    (void)nvrtc->api->nvrtcDestroyProgram(&program);
    return error;
}

void cuda_image_deinit(CudaImage *image) {
    memory_free(image->bytes);
    *image = (CudaImage){0};
}
