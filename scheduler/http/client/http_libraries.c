#include "scheduler/http/client/http_libraries.h"

#include <stddef.h>

#include "base/library/shared_library.h"

static const SharedLibraryFunction curl_functions[] = {
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(CurlLibrary, name)},
#include "scheduler/http/client/http_libraries.def"
#undef CURL_FUNCTION
};

static const SharedLibraryFunction microhttpd_functions[] = {
#define MICROHTTPD_FUNCTION(name) {"MHD_" #name, offsetof(MicrohttpdLibrary, name)},
#include "scheduler/http/client/http_libraries.def"
#undef MICROHTTPD_FUNCTION
};

enum {
    CURL_FUNCTION_COUNT = sizeof curl_functions / sizeof curl_functions[0],
    MICROHTTPD_FUNCTION_COUNT = sizeof microhttpd_functions / sizeof microhttpd_functions[0],
};

CurlLibrary libcurl;
MicrohttpdLibrary microhttpd;

static Error *open_curl(void) {
    TRY(shared_library_open(CURL_FILE, curl_functions, CURL_FUNCTION_COUNT, &libcurl));
    const CURLcode code = libcurl.global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) FAIL(IO, "libcurl: %s", libcurl.easy_strerror(code));
    return NULL;
}

static Error *open_microhttpd(void) {
    return shared_library_open(
        MICROHTTPD_FILE, microhttpd_functions, MICROHTTPD_FUNCTION_COUNT, &microhttpd);
}

Error *http_libraries_open_curl(void) {
    static SharedLibraryOnce once = SHARED_LIBRARY_CLOSED;
    return shared_library_open_once(&once, open_curl);
}

Error *http_libraries_open_microhttpd(void) {
    static SharedLibraryOnce once = SHARED_LIBRARY_CLOSED;
    return shared_library_open_once(&once, open_microhttpd);
}
