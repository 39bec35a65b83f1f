#include "scheduler/http/http_libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct Function {
    const char *name;
    size_t offset; /* of its pointer in the library's structure */
} Function;

static const Function curl_functions[] = {
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(CurlLibrary, name)},
#include "scheduler/http/http_libraries.def"
#undef CURL_FUNCTION
};

static const Function microhttpd_functions[] = {
#define MICROHTTPD_FUNCTION(name) {"MHD_" #name, offsetof(MicrohttpdLibrary, name)},
#include "scheduler/http/http_libraries.def"
#undef MICROHTTPD_FUNCTION
};

enum {
    CURL_FUNCTION_COUNT = sizeof curl_functions / sizeof curl_functions[0],
    MICROHTTPD_FUNCTION_COUNT = sizeof microhttpd_functions / sizeof microhttpd_functions[0],
};

CurlLibrary libcurl;
MicrohttpdLibrary microhttpd;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards opening */
static bool curl_is_open, microhttpd_is_open;

static Error *open_library(
    const char *file, const Function *functions, size_t count, void *library) {
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle) FAIL(UNSUPPORTED, "no %s on this machine: %s", file, dlerror());
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function)
            FAIL(UNSUPPORTED, "the %s on this machine has no %s", file, functions[i].name);
        memcpy((char *)library + functions[i].offset, &function, sizeof function);
    }
    return NULL;
}

static Error *open_curl(void) {
    TRY(open_library(CURL_FILE, curl_functions, CURL_FUNCTION_COUNT, &libcurl));
    const CURLcode code = libcurl.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) FAIL(IO, "libcurl: %s", libcurl.easy_strerror(code));
    return NULL;
}

static Error *open_once(bool *inout_is_open, Error *(*open)(void)) {
    Error *error = NULL;
    (void)pthread_mutex_lock(&mutex);
    if (!*inout_is_open) error = open();
    *inout_is_open = !error;
    (void)pthread_mutex_unlock(&mutex);
    return error;
}

static Error *open_microhttpd(void) {
    return open_library(
        MICROHTTPD_FILE, microhttpd_functions, MICROHTTPD_FUNCTION_COUNT, &microhttpd);
}

Error *http_libraries_open_curl(void) { return open_once(&curl_is_open, open_curl); }
Error *http_libraries_open_microhttpd(void) {
    return open_once(&microhttpd_is_open, open_microhttpd);
}
