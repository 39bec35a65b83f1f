#pragma once
/* The HTTP methods that the daemon answers and the client sends, and the upper bounds on bodies.
 * Included by http_client.h and route.h. Pure: no state. */
#include <stdint.h>

typedef enum HttpMethod {
    HTTP_METHOD_GET,
    HTTP_METHOD_POST,
    HTTP_METHOD_DELETE,
    HTTP_METHOD_COUNT,
} HttpMethod;

enum {
    HTTP_SIGN_IN_MAX = 4096,
    HTTP_JSON_MAX = 1 << 20,
    HTTP_PEER_MAX = 64 << 20,
    HTTP_MANIFEST_MAX = 256 << 20,
    HTTP_TENSORS_MAX = 256 << 20
};
#define HTTP_STREAM_MAX (UINT64_C(1) << 40)

/* The method as it stands in a request. A constant. */
const char *http_method_name(HttpMethod method);
