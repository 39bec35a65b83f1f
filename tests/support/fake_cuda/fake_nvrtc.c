/* libnvrtc.so.13 for the fake driver: the source as a library of the host, compiled by the compiler
 * that compiled this, over the same headers. It knows some architectures and insists on the flags
 * that decide bits. */
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fake_cuda/fake_driver.h"
#include "tests/support/fake_cuda/fake_module.h"

extern char **environ;

enum {
    NVRTC_ERROR_INVALID_INPUT = 3,
    NVRTC_ERROR_INVALID_OPTION = 5,
    NVRTC_ERROR_INTERNAL_ERROR = 11,
    PATH_BYTES = 256,
};

struct _nvrtcProgram {
    char *source, *log, *image;
    size_t image_size;
    char folder[32];
};

static const int architectures[] = {75, 80, 86, 89, 90};
enum { ARCHITECTURE_COUNT = sizeof architectures / sizeof architectures[0] };

FAKE_CUDA_FUNCTION nvrtcVersion(int *out_major, int *out_minor) {
    *out_major = 13;
    *out_minor = 0;
    return NVRTC_SUCCESS;
}

FAKE_CUDA_EXPORT const char *nvrtcGetErrorString(int result) {
    return result == NVRTC_ERROR_INVALID_OPTION ? "NVRTC_ERROR_INVALID_OPTION"
                                                : "NVRTC_ERROR of another kind";
}

FAKE_CUDA_FUNCTION nvrtcGetNumSupportedArchs(int *out) {
    *out = ARCHITECTURE_COUNT;
    return NVRTC_SUCCESS;
}

FAKE_CUDA_FUNCTION nvrtcGetSupportedArchs(int *out) {
    memcpy(out, architectures, sizeof architectures);
    return NVRTC_SUCCESS;
}

/* ---- files ---- */

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *at) {
    (void)what;
    (void)kind;
    (void)at;
    return remove(path);
}

static bool write_file(NvrtcProgram program, const char *name, const char *text) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", program->folder, name);
    for (char *at = path + strlen(program->folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    if (!file) return false;
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

/* With room before it, and a NUL behind. */
static char *read_file(NvrtcProgram program, const char *name, size_t before, size_t *out_size) {
    char path[PATH_BYTES];
    struct stat what;
    (void)snprintf(path, sizeof path, "%s/%s", program->folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    char *block =
        fstat(fileno(file), &what) == 0 ? calloc(1, before + (size_t)what.st_size + 1) : NULL;
    *out_size = block ? fread(block + before, 1, (size_t)what.st_size, file) : 0;
    (void)fclose(file);
    return block;
}

/* ---- programs ---- */

FAKE_CUDA_FUNCTION nvrtcDestroyProgram(NvrtcProgram *inout) {
    NvrtcProgram program = *inout;
    (void)nftw(program->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(program->source);
    free(program->log);
    free(program->image);
    free(program);
    *inout = NULL;
    return NVRTC_SUCCESS;
}

/* The host has the C library's headers of its own. */
FAKE_CUDA_FUNCTION nvrtcCreateProgram(NvrtcProgram *out, const char *source, const char *name,
    int header_count, const char *const *headers, const char *const *header_names) {
    NvrtcProgram program = calloc(1, sizeof *program);
    (void)name;
    if (!program) return NVRTC_ERROR_OUT_OF_MEMORY;
    (void)snprintf(program->folder, sizeof program->folder, "/tmp/fake_nvrtc_XXXXXX");
    program->source = strdup(source);
    bool made = program->source && mkdtemp(program->folder);
    for (int i = 0; made && i < header_count; i++)
        if (strchr(header_names[i], '/')) made = write_file(program, header_names[i], headers[i]);
    if (!made) {
        (void)nvrtcDestroyProgram(&program);
        return NVRTC_ERROR_INTERNAL_ERROR;
    }
    *out = program;
    return NVRTC_SUCCESS;
}

/* The source, and for each KERNEL(name, Parameters) of it what runs one block. */
static bool write_source(NvrtcProgram program) {
    char *text = NULL, name[64], parameters[64];
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file) return false;
    (void)fputs(program->source, file);
    const char *at = program->source;
    while ((at = strstr(at, "KERNEL("))) {
        if (sscanf(at++, "KERNEL(%63[^,], %63[^)])", name, parameters) != 2) continue;
        (void)fprintf(file,
            "const uint64_t " FAKE_MODULE_PARAMS_SIZE "%s = sizeof(%s);\n"
            "void " FAKE_MODULE_RUN "%s(const void *params, uint64_t block, uint64_t blocks) {\n"
            "    %s typed;\n"
            "    memcpy(&typed, params, sizeof typed);\n"
            "    device_block = (DeviceBlock){block, blocks, 0};\n"
            "    %s(typed);\n"
            "}\n",
            name, parameters, name, parameters, name);
    }
    bool written = fclose(file) == 0 && write_file(program, "source.c", text);
    free(text);
    return written;
}

/* Answers the compiler's exit status; what it says is in log.txt. */
static int run_compiler(NvrtcProgram program) {
    static const char *const command[] = {FAKE_NVRTC_COMPILER, "-std=gnu11", "-O1", "-shared",
        "-fPIC", "-w", "-ffp-contract=off", "-fno-math-errno", "-fno-strict-aliasing",
        "-fno-trapping-math", "-I.", "-o", "image.so", "source.c", "-lm", NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = -1;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addchdir_np(&actions, program->folder);
    (void)posix_spawn_file_actions_addopen(
        &actions, STDERR_FILENO, "log.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char *const *arguments = (char *const *)(uintptr_t)command;
    if (posix_spawnp(&child, command[0], &actions, NULL, arguments, environ) == 0)
        (void)waitpid(child, &status, 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return status;
}

static bool are_good(int count, const char *const *options) {
    static const char *const needed[] = {
        "--fmad=false", "--prec-div=true", "--prec-sqrt=true", "--ftz=false"};
    size_t found = 0;
    bool known = false;
    for (int i = 0; i < count; i++) {
        int sm = 0;
        for (size_t j = 0; j < sizeof needed / sizeof needed[0]; j++)
            if (strcmp(options[i], needed[j]) == 0) found++;
        if (sscanf(options[i], "--gpu-architecture=sm_%d", &sm) != 1)
            (void)sscanf(options[i], "--gpu-architecture=compute_%d", &sm);
        for (int j = 0; j < ARCHITECTURE_COUNT; j++)
            if (architectures[j] == sm) known = true;
    }
    return known && found == sizeof needed / sizeof needed[0];
}

FAKE_CUDA_FUNCTION nvrtcCompileProgram(
    NvrtcProgram program, int option_count, const char *const *options) {
    size_t size = 0;
    if (!are_good(option_count, options)) return NVRTC_ERROR_INVALID_OPTION;
    if (!write_source(program)) return NVRTC_ERROR_INTERNAL_ERROR;
    int status = run_compiler(program);
    program->log = read_file(program, "log.txt", 0, &size);
    if (!program->log) return NVRTC_ERROR_INTERNAL_ERROR;
    if (status != 0) return NVRTC_ERROR_COMPILATION;
    program->image = read_file(program, "image.so", sizeof(FakeImage), &size);
    if (!program->image) return NVRTC_ERROR_INTERNAL_ERROR;
    const FakeImage head = {FAKE_IMAGE_MARK, size};
    memcpy(program->image, &head, sizeof head);
    program->image_size = sizeof head + size;
    return NVRTC_SUCCESS;
}

/* ---- results ---- */

FAKE_CUDA_FUNCTION nvrtcGetCUBINSize(NvrtcProgram program, size_t *out) {
    *out = program->image_size;
    return program->image ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_INPUT;
}

FAKE_CUDA_FUNCTION nvrtcGetCUBIN(NvrtcProgram program, char *out) {
    memcpy(out, program->image, program->image_size);
    return NVRTC_SUCCESS;
}

FAKE_CUDA_FUNCTION nvrtcGetPTXSize(NvrtcProgram program, size_t *out) {
    return nvrtcGetCUBINSize(program, out);
}

FAKE_CUDA_FUNCTION nvrtcGetPTX(NvrtcProgram program, char *out) {
    return nvrtcGetCUBIN(program, out);
}

FAKE_CUDA_FUNCTION nvrtcGetProgramLogSize(NvrtcProgram program, size_t *out) {
    *out = strlen(program->log) + 1;
    return NVRTC_SUCCESS;
}

FAKE_CUDA_FUNCTION nvrtcGetProgramLog(NvrtcProgram program, char *out) {
    memcpy(out, program->log, strlen(program->log) + 1);
    return NVRTC_SUCCESS;
}
