#pragma once
/* libcurl and libmicrohttpd, opened at run time: with what they need in turn they are thirty
 * libraries, whose loading takes longer than the rest of a short command that calls nobody.
 *
 * Their functions stand in http_libraries.def. Threads: any; each library is opened once in a
 * process and stays. */
#include <curl/curl.h>
#include <microhttpd.h>

#include "base/error.h"

typedef struct CurlLibrary {
#define CURL_FUNCTION(name) __typeof__(&curl_##name) name;
#include "scheduler/http/client/http_libraries.def"
#undef CURL_FUNCTION
} CurlLibrary;

typedef struct MicrohttpdLibrary {
#define MICROHTTPD_FUNCTION(name) __typeof__(&MHD_##name) name;
#include "scheduler/http/client/http_libraries.def"
#undef MICROHTTPD_FUNCTION
} MicrohttpdLibrary;

/* NULL functions until it is opened. */
extern CurlLibrary libcurl;
extern MicrohttpdLibrary microhttpd;

/* libcurl initialised, too. Errors: UNSUPPORTED it is not on this machine, or lacks a function; IO
 * it does not start. */
MUST_CHECK Error *http_libraries_open_curl(void);
MUST_CHECK Error *http_libraries_open_microhttpd(void);
