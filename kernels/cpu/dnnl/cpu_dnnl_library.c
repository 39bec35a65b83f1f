#include "kernels/cpu/dnnl/cpu_dnnl_library.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/library/shared_library.h"

enum { BUILD_CHARACTERS = 16 }; /* length of a build id shown to people */

static const SharedLibraryFunction functions[] = {
#define DNNL_FUNCTION(name) {"dnnl_" #name, offsetof(DnnlLibrary, name)},
#include "kernels/cpu/dnnl/cpu_dnnl_functions.def"
#undef DNNL_FUNCTION
    {"omp_set_num_threads", offsetof(DnnlLibrary, set_thread_count)},
};

DnnlLibrary dnnl;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards the variables below */
static bool is_open, was_read;
static dnnl_engine_t engine;
static char build[SHARED_LIBRARY_BUILD_SIZE]; /* empty: the file has no build id */

/* The file that the linker found when this was built; elsewhere the loader's choice. */
static const char *file_name(void) {
    static const char path[] = DNNL_FILE;
    return access(path, R_OK) == 0 ? path : strrchr(path, '/') + 1;
}

static void read_build(char out[SHARED_LIBRARY_BUILD_SIZE]) {
    out[0] = 0;
    if (strchr(file_name(), '/'))
        error_free(shared_library_read_build(file_name(), out)); /* or by oneDNN, once loaded */
}

static Error *open_locked(void) {
    if (is_open) return NULL;
    TRY(shared_library_open(file_name(), functions, sizeof functions / sizeof functions[0], &dnnl));
    char now[SHARED_LIBRARY_BUILD_SIZE];
    read_build(now);
    if (was_read && strcmp(now, build) != 0)
        FAIL(UNSUPPORTED, "%s was replaced while this process ran; start it again", DNNL_FILE);
    if (dnnl.engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        FAIL(UNSUPPORTED, "oneDNN has no engine for this processor");
    is_open = true;
    return NULL;
}

Error *cpu_dnnl_open(void) {
    (void)pthread_mutex_lock(&mutex);
    Error *error = open_locked();
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

dnnl_engine_t cpu_dnnl_engine(void) { return engine; }

static void print_locked(TextBuilder *out) {
    if (!was_read) read_build(build);
    was_read = true;
    if (build[0]) {
        text_appendf(out, "oneDNN build %.*s", BUILD_CHARACTERS, build);
        return;
    }
    Error *error = open_locked();
    if (error) {
        text_append(out, "no oneDNN");
        error_free(error); /* a kernel that needs oneDNN reports the error */
        return;
    }
    const dnnl_version_t *version = dnnl.version();
    text_appendf(out, "oneDNN %d.%d.%d %.12s", version->major, version->minor, version->patch,
        version->hash);
}

void cpu_dnnl_library_print(TextBuilder *out) {
    (void)pthread_mutex_lock(&mutex);
    print_locked(out);
    (void)pthread_mutex_unlock(&mutex);
}
