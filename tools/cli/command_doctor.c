#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/library/crypto_library.h"
#include "include/layover.h"
#include "kernels/cpu/dnnl/cpu_dnnl_library.h"
#include "kernels/registry/device_registry.h"
#include "scheduler/http/client/http_libraries.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "store/database/store.h"
#include "tools/client/colour.h"
#include "tools/client/remote.h"
#include "tools/run/image_decode.h"

const CommandOption command_doctor_options[] = {{0}};

/* A check writes what it found, or returns the reason why something is missing. */
typedef Error *CheckRun(const CommandContext *context, const char *what, TextBuilder *found);

typedef struct Check {
    const char *name;
    const char *what; /* handed to run */
    bool required;    /* false: Layover works without it; other faults are failures */
    CheckRun *run;
    const char *help; /* how to get what is missing */
} Check;

/* ---- the home and its daemon ---- */

static Error *check_version(const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    text_appendf(found, "%s %s", what, LAYOVER_VERSION);
    return NULL;
}

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Opens a home that no daemon holds. A home that does not exist yet is all right. */
static Error *check_home(const CommandContext *context, const char *what, TextBuilder *found) {
    OWN(HttpClient, client) = NULL;
    char *default_home = NULL;
    (void)what;
    if (!context->home) TRY(store_default_home(&default_home));
    text_append(found, context->home ? context->home : default_home);
    memory_free(default_home);
    TRY(text_builder_check(found));
    const char *home = text_builder_get(found), *server = getenv("LAYOVER_SERVER");
    if (!is_folder(home)) {
        text_append(found, ", which the first model makes");
        return NULL;
    }
    if (server && *server && !context->embedded) return NULL; /* the verbs do not use the home */
    TRY(remote_find(context, &client));
    if (client) {
        text_append(found, ", which a daemon holds");
        return NULL;
    }
    Store *store = NULL;
    TRY(store_open(home, STORE_EXISTING, &store));
    store_close(store);
    return NULL;
}

static Error *check_daemon(const CommandContext *context, const char *what, TextBuilder *found) {
    OWN(HttpClient, client) = NULL;
    OWN_JSON(answer) = NULL;
    (void)what;
    TRY(remote_find(context, &client));
    if (!client) FAIL(NOT_FOUND, "no daemon holds this home, so verbs work on it themselves");
    TRY(remote_ask_route(client, ROUTE_SERVER, NULL, &answer));
    const char *version = remote_text(answer, "version");
    text_appendf(found, "version %s", version);
    if (strcmp(version, LAYOVER_VERSION) != 0)
        FAIL(
            CONFLICT, "the daemon has version %.40s and this program %s", version, LAYOVER_VERSION);
    return NULL;
}

/* ---- devices and libraries ---- */

static Error *check_device(const CommandContext *context, const char *kind, TextBuilder *found) {
    OWN(Device, device) = NULL;
    DeviceMemory memory;
    char spec[DEVICE_NAME_MAX];
    (void)context;
    (void)snprintf(spec, sizeof spec, "%s%s", kind, strcmp(kind, "cpu") == 0 ? "" : ":0");
    TRY(device_open(spec, &device));
    TRY(device->class_->memory(device, &memory));
    text_appendf(found, "%s, %.1f GB free of %.1f GB, ", device->name,
        (double)memory.free_bytes / 1e9, (double)memory.total_bytes / 1e9);
    device->class_->determinism_class(device, found);
    return NULL;
}

static Error *check_curl(const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    TRY(http_libraries_open_curl());
    text_append(found, what);
    return NULL;
}

static Error *check_microhttpd(
    const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    TRY(http_libraries_open_microhttpd());
    text_append(found, what);
    return NULL;
}

static Error *check_crypto(const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    TRY(crypto_library_open());
    text_append(found, what);
    return NULL;
}

static Error *check_dnnl(const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    TRY(cpu_dnnl_open());
    text_append(found, what);
    return NULL;
}

static Error *check_images(const CommandContext *context, const char *what, TextBuilder *found) {
    (void)context;
    if (!image_decode_reads(what)) FAIL(UNSUPPORTED, "this build reads no %s", what);
    text_appendf(found, "this build reads %s", what);
    return NULL;
}

static const Check first_checks[] = {
    {"version", "layover", true, check_version, ""},
    {"home", NULL, false, check_home,
        "layover fsck checks it; --home or LAYOVER_HOME names another"},
    {"daemon", NULL, false, check_daemon, "layover serve starts one; LAYOVER_SERVER names another"},
};
static const Check library_checks[] = {
    {"libcurl", "for verbs through a daemon", false, check_curl, "apt install libcurl4"},
    {"libmicrohttpd", "for layover serve", false, check_microhttpd, "apt install libmicrohttpd12"},
    {"libcrypto", "for SHA-256", true, check_crypto, "apt install libssl3"},
    {"oneDNN", "for convolutions and products on cpu", false, check_dnnl, "apt install libdnnl2"},
    {"PNG", "PNG", false, check_images, "apt install libpng-dev, and build again"},
    {"JPEG", "JPEG", false, check_images, "apt install libturbojpeg0-dev, and build again"},
};

/* ---- the answer ---- */

static void print_finding(json_object *finding) {
    const char *help = remote_text(finding, "help"), *state = remote_text(finding, "state");
    const Colour colour = strcmp(state, "ok") == 0       ? COLOUR_GREEN
                          : strcmp(state, "failed") == 0 ? COLOUR_RED
                                                         : COLOUR_YELLOW;
    printf("%s%-8s%s %-14s %s%s%s\n", colour_begin(STDOUT_FILENO, colour), state,
        colour_end(STDOUT_FILENO), remote_text(finding, "check"), remote_text(finding, "found"),
        *help ? "; " : "", help);
}

/* Whether the error only says that something is not there. */
static bool is_absence(const Error *error) {
    return error_code(error) == ERROR_NOT_FOUND || error_code(error) == ERROR_UNSUPPORTED;
}

/* Runs a check and adds what it found to the list. */
static Error *examine(CommandContext *context, const Check *check, json_object *findings) {
    TextBuilder OWN_TEXT(found) = {0};
    json_object *finding;
    Error *error = check->run(context, check->what, &found);
    if (!error) error = text_builder_check(&found);
    const bool failed = error && (check->required || !is_absence(error));
    const char *state = !error ? "ok" : failed ? "failed" : "missing";
    Error *made = json_fields_create(&finding);
    if (!made) {
        json_fields_text(finding, "check", check->name);
        json_fields_text(finding, "state", state);
        json_fields_text(finding, "found", error ? error_message(error) : text_builder_get(&found));
        json_fields_text(finding, "help", error ? check->help : NULL);
        json_object_array_add(findings, finding);
        if (failed) context->exit_code = 1;
        if (!context->json) print_finding(finding);
    }
    error_free(error); /* the finding has the message */
    return made;
}

static Error *examine_devices(CommandContext *context, json_object *findings) {
    for (const char *const *kind = device_kinds(); *kind; kind++) {
        const bool is_cpu = strcmp(*kind, "cpu") == 0;
        char name[DEVICE_NAME_MAX + 8];
        (void)snprintf(name, sizeof name, "device %s", *kind);
        const Check check = {name, *kind, is_cpu, check_device,
            is_cpu ? ""
                   : "its driver and its plugin are found by LD_LIBRARY_PATH and LAYOVER_PLUGINS"};
        TRY(examine(context, &check, findings));
    }
    return NULL;
}

Error *command_doctor(CommandContext *context) {
    json_object *answer, *findings = json_object_new_array();
    TRY(json_fields_create(&answer));
    json_fields_text(answer, "version", LAYOVER_VERSION);
    json_object_object_add(answer, "checks", findings);
    Error *error = NULL;
    for (size_t i = 0; !error && i < sizeof first_checks / sizeof *first_checks; i++)
        error = examine(context, &first_checks[i], findings);
    if (!error) error = examine_devices(context, findings);
    for (size_t i = 0; !error && i < sizeof library_checks / sizeof *library_checks; i++)
        error = examine(context, &library_checks[i], findings);
    json_object_object_add(answer, "ok", json_object_new_boolean(context->exit_code == 0));
    if (!error && context->json) return command_print_json(answer);
    json_object_put(answer);
    return error;
}
