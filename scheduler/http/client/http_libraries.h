#pragma once
/* Opens libcurl and libmicrohttpd at run time. With their dependencies they are thirty libraries,
 * and loading them would take longer than a short command that calls no server. Called by
 * http/client/ and http/server/.
 *
 * Their functions are listed in http_libraries.def. Threads: any; each library is opened once in a
 * process and stays open. */
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

/* The functions are NULL until the library is opened. */
extern CurlLibrary libcurl;
extern MicrohttpdLibrary microhttpd;

/* Also initialises libcurl. Errors: UNSUPPORTED the library is not on this machine, or lacks a
 * function; IO it does not start. */
MUST_CHECK Error *http_libraries_open_curl(void);
MUST_CHECK Error *http_libraries_open_microhttpd(void);
