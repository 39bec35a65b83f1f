#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tools/client/remote.h"

const CommandOption command_top_options[] = {
    {"once", NULL, false, "once, not every second; the default where the output is no terminal"},
    {0},
};

static size_t count_of(json_object *list) {
    return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

static double or_zero(double value) { return isfinite(value) ? value : 0; }

static void print_top(json_object *top) {
    json_object *devices = remote_field(top, "devices"), *tenants = remote_field(top, "tenants");
    printf("%-10s %10s %10s %10s  %s\n", "device", "GB free", "GB", "busy s", "job");
    for (size_t i = 0; i < count_of(devices); i++) {
        json_object *at = json_object_array_get_idx(devices, i);
        printf("%-10s %10.1f %10.1f %10.1f  %s\n", remote_text(at, "device"),
            remote_real(at, "free_bytes") / 1e9, remote_real(at, "memory_bytes") / 1e9,
            or_zero(remote_real(at, "busy_seconds")), remote_text(at, "job"));
    }
    printf("\n%-24s %6s %7s %7s %9s %10s %7s\n", "tenant", "weight", "queued", "running",
        "suspended", "device s", "share");
    for (size_t i = 0; i < count_of(tenants); i++) {
        json_object *at = json_object_array_get_idx(tenants, i);
        printf("%-24s %6lld %7lld %7lld %9lld %10.1f %6.1f%%\n", remote_text(at, "tenant"),
            (long long)remote_int(at, "weight"), (long long)remote_int(at, "queued"),
            (long long)remote_int(at, "running"), (long long)remote_int(at, "suspended"),
            or_zero(remote_real(at, "device_seconds")), or_zero(remote_real(at, "share")) * 100);
    }
    (void)fflush(stdout);
}

/* On a terminal, prints until SIGINT arrives or the output is closed. */
Error *command_top(CommandContext *context) {
    static const struct timespec second = {.tv_sec = 1};
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    TRY(remote_need(context, &client));
    remote_path(&path, ROUTE_TOP, NULL);
    const bool once = command_flag(context, "once") || !isatty(STDOUT_FILENO);
    for (;;) {
        json_object *top;
        if (!once && !context->json) printf("\x1b[H\x1b[2J");
        TRY(remote_ask_pages(client, &path, "tenants", &top));
        TRY(remote_show(context, top, print_top));
        if (once) return NULL;
        (void)nanosleep(&second, NULL);
    }
}
