#include "scheduler/http/server/http_browser.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_SIZE = 40 };

static const char https[] = "https://";
static const char http[] = "http://";

bool http_browser_is_sender(const HttpHead *head) {
    return head->page_origin || head->fetch_site || head->cookie;
}

/* Whether Origin names the host of the request. With TLS only https will do. */
static bool is_same_host(const HttpHead *head) {
    const char *origin = head->page_origin;
    if (!head->host) return false;
    if (text_starts_with(origin, https)) return !strcasecmp(origin + sizeof https - 1, head->host);
    return !head->tls && text_starts_with(origin, http) &&
           !strcasecmp(origin + sizeof http - 1, head->host);
}

bool http_browser_is_own_page(const HttpHead *head) {
    if (head->fetch_site && strcmp(head->fetch_site, "same-origin") != 0) return false;
    return head->page_origin ? is_same_host(head) : head->fetch_site != NULL;
}

bool http_browser_is_other_page(const HttpHead *head) {
    if (head->page_origin && !is_same_host(head)) return true;
    return head->fetch_site && strcmp(head->fetch_site, "same-origin") != 0 &&
           strcmp(head->fetch_site, "none") != 0;
}

bool http_browser_is_secure(const HttpHead *head) {
    return head->tls || (head->page_origin && text_starts_with(head->page_origin, https));
}

static void write_name(uint64_t node, char out[NAME_SIZE]) {
    (void)snprintf(out, NAME_SIZE, "layover-%012" PRIx64, node);
}

bool http_browser_read_cookie(
    const char *header, uint64_t node, char out_text[HTTP_SESSION_TEXT_SIZE]) {
    char name[NAME_SIZE];
    write_name(node, name);
    const size_t name_size = strlen(name);
    while (header && *header) {
        header += strspn(header, " ;");
        const size_t size = strcspn(header, ";");
        if (size == name_size + HTTP_SESSION_TEXT_SIZE && header[name_size] == '=' &&
            memcmp(header, name, name_size) == 0) {
            memcpy(out_text, header + name_size + 1, HTTP_SESSION_TEXT_SIZE - 1);
            out_text[HTTP_SESSION_TEXT_SIZE - 1] = 0;
            return true;
        }
        header += size;
    }
    return false;
}

void http_browser_write_cookie(
    uint64_t node, const char *text, bool secure, char out[HTTP_COOKIE_SIZE]) {
    char name[NAME_SIZE];
    write_name(node, name);
    (void)snprintf(out, HTTP_COOKIE_SIZE, "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s",
        name, text ? text : "", text ? HTTP_SESSION_LIFE_S : 0, secure ? "; Secure" : "");
}
