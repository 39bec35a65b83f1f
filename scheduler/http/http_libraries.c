#include "scheduler/http/http_libraries.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/shared_library.h"

static const SharedLibraryFunction curl_functions[] = {
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(CurlLibrary, name)},
#include "scheduler/http/http_libraries.def"
#undef CURL_FUNCTION
};

static const SharedLibraryFunction microhttpd_functions[] = {
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

static Error *open_curl(void) {
    TRY(shared_library_open(CURL_FILE, curl_functions, CURL_FUNCTION_COUNT, &libcurl));
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
    return shared_library_open(
        MICROHTTPD_FILE, microhttpd_functions, MICROHTTPD_FUNCTION_COUNT, &microhttpd);
}

Error *http_libraries_open_curl(void) { return open_once(&curl_is_open, open_curl); }
Error *http_libraries_open_microhttpd(void) {
    return open_once(&microhttpd_is_open, open_microhttpd);
}
