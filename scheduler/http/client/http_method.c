#include "scheduler/http/client/http_method.h"

const char *http_method_name(HttpMethod method) {
    static const char *const names[HTTP_METHOD_COUNT] = {"GET", "POST", "DELETE"};
    return names[method];
}
