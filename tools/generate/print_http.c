/* Prints docs/http.md: the daemon's addresses, errors and metrics, from routes.def, errors.def and
 * metrics.def. */
#include <stdio.h>

#include "scheduler/http/server/route.h"
#include "scheduler/node/metrics.h"

static const char WORDS[] =
    "# HTTP\n\n"
    "Made by `print_http.c` from `routes.def`, `errors.def` and `metrics.def`; edit those.\n\n"
    "- The daemon answers on a unix socket and, where it was told to, on TCP. On the socket a "
    "request\n  without a token is the node's administrator, acting for the tenant `default`. With "
    "the header\n  `Authorization: Bearer TOKEN` it is that token's tenant and role. TCP always "
    "needs a token or a\n  session, but for the addresses of the role *anyone*. `?tenant=NAME` "
    "acts for another "
    "tenant where\n  the role allows it.\n"
    "- A browser that has signed in sends the cookie of a session instead of a token. A cookie "
    "counts\n  only for requests of the daemon's [own page](page.md): with the header `Origin`, "
    "which names the\n  host, or `Sec-Fetch-Site: same-origin`.\n"
    "- Things of another tenant are answered exactly as things that do not exist.\n"
    "- One result is one JSON object; lists and streams are JSON Lines. An error is\n  "
    "`{\"error\", \"code\"}`. Unknown fields of a query or a body are refused. A body without a "
    "given\n  length is taken in chunks.\n"
    "- Lists that say *pages* are answered in parts of at most `?limit=` lines (1 to 1,000, which "
    "is also\n  the default) and 4 MiB. Where there is more, the header `Layover-Next` has the "
    "`?after=` of the\n  next request; on the last page it is missing. Lines keep their order "
    "while "
    "others come and go.\n"
    "- A head that RFC 9112 has refused, or that another reader could cut differently, is answered "
    "with\n  400 (an unknown coding: 501) and the connection closed. The HTTP library itself "
    "answers a\n  malformed chunk, and a head of more than 64 KiB, in HTML, and closes.\n\n"
    "| method | address | role | body | what |\n| --- | --- | --- | --- | --- |\n";

static const char POLICY[] =
    "\n## A job's policy\n\n"
    "The part `policy` of `POST /v1/jobs`; only `model` must be there. The part `inputs` is an "
    ".npz\nfile with arrays named like the inputs; a function without inputs needs none.\n\n"
    "| field | what |\n| --- | --- |\n"
    "| `model`, `function` | NAME, NAME@3 or NAME@alias; default main |\n"
    "| `items`, `batch`, `shared` | true: a batch job; items of a run; inputs that go whole to "
    "each run |\n"
    "| `priority`, `weight` | high, normal, low; its share among the tenant's jobs |\n"
    "| `deadline` | seconds from now; the answer then has `deadline`, `missed`, `feasible` and "
    "`earliest_end` |\n"
    "| `checkpoint_every` | seconds |\n"
    "| `checkpoint_keep`, `release` | how many checkpoints stay; log or checkpoint |\n"
    "| `device`, `threads`, `check_finite` | as of `layover run` |\n"
    "| `suspend_after`, `suspend_after_ms` | instructions or milliseconds after which it suspends "
    "itself |\n"
    "| `key` | the same key and content again is the same job; other content is a conflict |\n";

/* A | would end the cell. */
static void print_cell(const char *text) {
    for (; *text; text++) printf(*text == '|' ? "\\%c" : "%c", *text);
}

static void print_routes(void) {
    for (RouteId route = 0; route < ROUTE_COUNT; route++) {
        const RouteInfo *info = route_info(route);
        printf("| %s | `%s` | %s | %s | ", http_method_name(info->method), info->pattern,
            route_role_name(info->role), route_body_name(info->body));
        print_cell(info->help);
        printf(" |\n");
    }
}

static void print_errors(void) {
    printf("\n## Errors\n\n| code | status | exit code | what |\n| --- | --- | --- | --- |\n");
    for (ErrorCode code = 1; code < ERROR_CODE_COUNT; code++) {
        const ErrorInfo *info = error_info(code);
        printf("| %s | %d | %d | %s |\n", info->name, info->http_status, info->exit_code,
            info->meaning);
    }
}

static void print_metrics(void) {
    static const char *const kinds[] = {"counter", "gauge", "counter", "gauge", "histogram"};
    printf("\n## Metrics\n\n| metric | kind | labels | what |\n| --- | --- | --- | --- |\n");
    for (MetricId metric = 0; metric < METRIC_COUNT; metric++) {
        const MetricInfo *info = metric_info(metric);
        printf(
            "| `%s` | %s | %s | %s |\n", info->name, kinds[info->kind], info->labels, info->help);
    }
}

int main(void) {
    (void)fputs(WORDS, stdout);
    print_routes();
    (void)fputs(POLICY, stdout);
    print_errors();
    print_metrics();
    return 0;
}
