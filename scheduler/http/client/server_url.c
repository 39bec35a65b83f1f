#include "scheduler/http/client/server_url.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "scheduler/http/client/http_libraries.h"

enum { HOST_SIZE = 256, LOOPBACK_NETWORK = 127 };

/* Whether the address has this part; out: its text, if it is not too long. */
static bool has_part(CURLU *parsed, CURLUPart part, char out[HOST_SIZE]) {
    char *text = NULL;
    if (libcurl.url_get(parsed, part, &text, 0) != CURLUE_OK) return false;
    int length = snprintf(out, HOST_SIZE, "%s", text);
    libcurl.free(text);
    if (length >= HOST_SIZE) out[0] = 0;
    return true;
}

static Error *check_parts(CURLU *parsed, const char *url, bool *out_tls, char host[HOST_SIZE]) {
    static const CURLUPart unwanted[] = {
        CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT};
    char text[HOST_SIZE];
    if (!has_part(parsed, CURLUPART_SCHEME, text) || !has_part(parsed, CURLUPART_HOST, host) ||
        !*host)
        FAIL(INVALID, "%s is no address of a server", url);
    *out_tls = strcmp(text, "https") == 0;
    if (!*out_tls && strcmp(text, "http") != 0)
        FAIL(INVALID, "%s: https://HOST:PORT is wanted", url);
    for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
        if (has_part(parsed, unwanted[i], text))
            FAIL(INVALID, "%s: nothing but a host and a port is wanted", url);
    if (has_part(parsed, CURLUPART_PATH, text) && *text && strcmp(text, "/") != 0)
        FAIL(INVALID, "%s: nothing but a host and a port is wanted", url);
    return NULL;
}

/* Hosts as curl writes them: numbers in canonical form, and "localhost", which is never looked
 * up. */
static bool is_this_machine(const char *host) {
    uint8_t bytes[sizeof(struct in_addr)];
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) return true;
    return inet_pton(AF_INET, host, bytes) == 1 && bytes[0] == LOOPBACK_NETWORK;
}

Error *server_url_check(const char *url, bool *out_tls) {
    char host[HOST_SIZE];
    bool tls = false;
    if (url[0] == '/' || text_starts_with(url, "unix:")) {
        *out_tls = false;
        return NULL;
    }
    TRY(http_libraries_open_curl());
    CURLU *parsed = libcurl.url();
    if (!parsed) FAIL(OUT_OF_MEMORY, "no memory for an address");
    Error *error = NULL;
    CURLUcode code = libcurl.url_set(parsed, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME);
    if (code == CURLUE_OK)
        error = check_parts(parsed, url, &tls, host);
    else
        error = error_make(ERROR_INVALID, __FILE__, __LINE__, "%s is no address of a server: %s",
            url, libcurl.url_strerror(code));
    libcurl.url_cleanup(parsed);
    TRY(error);
    if (!tls && !is_this_machine(host))
        FAIL(REFUSED, "%s is not encrypted, and no address of this machine; use https://", url);
    *out_tls = tls;
    return NULL;
}
