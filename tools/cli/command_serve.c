#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "include/layover.h"
#include "scheduler/daemon/daemon.h"
#include "scheduler/http/client/json_fields.h"
#include "store/database/store.h"
#include "tools/client/command.h"
#include "tools/client/native_options.h"

enum { GRACE_DEFAULT_S = 30, GRACE_MAX_S = 24 * 3600, SELF_SIZE = 4096 };

const CommandOption command_serve_options[] = {
    {"socket", "PATH", false, "the unix socket to answer at; default: in the home"},
    {"listen", "HOST:PORT", false, "answers on TCP, too; port 0 takes a free one"},
    {"tls-cert", "FILE", false, "the certificate (PEM, with its chain) of --listen"},
    {"tls-key", "FILE", false, "its key (PEM)"},
    {"device", "SPEC", true, "cpu (default), cpu:threads=2, sim:0,memory=1GiB; repeatable"},
    {"event-log", "FILE", false, "writes down each decision, for simulate --replay"},
    {"event-log-max", "BYTES", false, "where that log ends (default 1 GiB)"},
    {"weight-cache-max", "BYTES", false,
        "of prepared weights kept in the home (default: a quarter of what is free); 0: none"},
    {"isolate", NULL, false,
        "tenants with the same model share no weights in memory or on disk that make a run faster"},
    {"native-tenant", "NAME", true,
        "a tenant whose models may run native code of their libraries (trusted code); repeatable"},
    NATIVE_PRELOAD_OPTION,
    {"grace", "S", false, "seconds for storing checkpoints at the end (default 30)"},
    {0},
};

static Error *read_native_tenants(const CommandContext *context, NativeTenants *out) {
    const char *name;
    for (uint32_t i = 0; (name = command_option_at(context, "native-tenant", i)); i++) {
        if (i == NATIVE_TENANTS_MAX)
            FAIL(USAGE, "--native-tenant: more than %d tenants", NATIVE_TENANTS_MAX);
        if (!text_is_name(name)) FAIL(USAGE, "--native-tenant %s: not a tenant's name", name);
        out->names[out->count++] = name;
    }
    return NULL;
}

static Error *say_ready(void *context_pointer, const DaemonReady *ready) {
    const CommandContext *context = context_pointer;
    if (!context->json) {
        printf("ready: %s%s%s, pid %ld\n", ready->socket, ready->listen[0] ? ", " : "",
            ready->listen, (long)getpid());
        if (ready->fingerprint[0])
            printf("its key, for node add elsewhere: %s\n", ready->fingerprint);
        (void)fflush(stdout);
        return NULL;
    }
    json_object *object;
    TRY(json_fields_create(&object));
    json_object_object_add(object, "ready", json_object_new_boolean(1));
    json_fields_text(object, "socket", ready->socket);
    json_fields_text(object, "listen", ready->listen[0] ? ready->listen : NULL);
    json_fields_int(object, "pid", (int64_t)getpid());
    json_fields_text(object, "fingerprint", ready->fingerprint[0] ? ready->fingerprint : NULL);
    TRY(command_print_json(object));
    (void)fflush(stdout);
    return NULL;
}

/* Prints a line for each job that still runs, then the line that explains the end. */
static void end_by_force(size_t left, const char *words) {
    while (*words) {
        const size_t length = strcspn(words, "\n");
        (void)fprintf(stderr, "layover: %.*s\n", (int)length, words);
        words += length + (words[length] != 0);
    }
    (void)fprintf(stderr, "layover: the time of --grace is over and not everything has stopped: "
                          "ended by force; what is stored is whole\n");
    _exit(left > 0 ? EXIT_SUSPENDED : EXIT_SUCCESS);
}

Error *command_serve(CommandContext *context) {
    char self[SELF_SIZE], *owned_home = NULL, *preload = NULL;
    int64_t grace_s, log_max, cache_max;
    size_t left;
    DaemonOptions options = {.socket = command_option(context, "socket"),
        .listen = command_option(context, "listen"),
        .tls_cert = command_option(context, "tls-cert"),
        .tls_key = command_option(context, "tls-key"),
        .event_log = command_option(context, "event-log"),
        .compiler = self,
        .version = LAYOVER_VERSION,
        .cut = end_by_force};
    TRY(command_integer(context, "grace", 0, GRACE_MAX_S, GRACE_DEFAULT_S, &grace_s));
    options.grace_ns = (uint64_t)grace_s * 1000000000;
    TRY(command_integer(context, "event-log-max", EVENT_RECORDER_SIZE_MIN, INT64_MAX,
        EVENT_RECORDER_SIZE_DEFAULT, &log_max));
    options.event_log_max = (uint64_t)log_max;
    TRY(command_integer(context, "weight-cache-max", 0, INT64_MAX, 0, &cache_max));
    options.weight_cache_max = (uint64_t)cache_max;
    options.isolate = command_flag(context, "isolate");
    TRY(read_native_tenants(context, &options.native));
    options.weight_cache = cache_max > 0 || !command_flag(context, "weight-cache-max");
    if (command_flag(context, "event-log-max") && !options.event_log)
        FAIL(USAGE, "--event-log-max: there is no --event-log");
    if (!options.tls_cert != !options.tls_key || (options.tls_cert && !options.listen))
        FAIL(USAGE, "--tls-cert, --tls-key and --listen belong together");
    const char *spec;
    while ((spec = command_option_at(context, "device", options.device_count))) {
        if (options.device_count == CONTROL_DEVICES_MAX)
            FAIL(USAGE, "--device: %d devices at most", CONTROL_DEVICES_MAX);
        options.devices[options.device_count++] = spec;
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) FAIL(IO, "/proc/self/exe cannot be read");
    self[length] = 0;
    TRY(native_options_read_preload(context, &preload));
    options.native.preload = preload;
    Error *error = context->home ? NULL : store_default_home(&owned_home);
    options.home = context->home ? context->home : owned_home;
    if (!error) error = daemon_run(&options, say_ready, context, &left);
    memory_free(owned_home);
    memory_free(preload);
    TRY(error);
    if (left > 0) context->exit_code = EXIT_SUSPENDED;
    return NULL;
}
