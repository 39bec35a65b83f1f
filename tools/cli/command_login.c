#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/client/server_url.h"
#include "tools/client/remote.h"
#include "tools/client/secret_line.h"
#include "tools/remote/private_file.h"
#include "tools/remote/profiles.h"
#include "tools/remote/server_choice.h"

#define PROFILE_OPTION                                                                             \
    { "profile", "NAME", false, "the profile's name; default: default" }

const CommandOption command_login_options[] = {
    PROFILE_OPTION,
    {"ca-file", "FILE.pem", false, "certificates to trust instead of the system's"},
    {0},
};
const CommandOption command_logout_options[] = {PROFILE_OPTION, {0}};

/* The file of profiles, and the profile that the command is about. */
typedef struct Target {
    char *path;
    Profiles profiles;
    const char *name;
    char token_name[PROFILE_NAME_SIZE + sizeof ".token"]; /* beside the file of profiles */
    char *token_path;
} Target;

static void target_deinit(Target *target) {
    memory_free(target->path);
    memory_free(target->token_path);
    profiles_deinit(&target->profiles);
}
#define OWN_TARGET(name) __attribute__((cleanup(target_deinit))) Target name

static Error *find_target(const CommandContext *context, Target *out) {
    const char *name = command_option(context, "profile"), *verb = context->command->verb;
    if (context->server || context->home || context->embedded)
        FAIL(USAGE, "%s: --server, --home and --embedded do not go with it", verb);
    out->name = name ? name : "default";
    if (!text_is_name(out->name))
        FAIL(USAGE, "--profile %s: at most 64 letters, digits and . _ - are wanted", out->name);
    TRY(profiles_find_path(&out->path));
    TRY(profiles_read(out->path, &out->profiles));
    (void)snprintf(out->token_name, sizeof out->token_name, "%s.token", out->name);
    return profiles_resolve(out->path, out->token_name, &out->token_path);
}

/* Makes the folders of a file that is not there yet. */
static Error *make_folders(const char *path) {
    TextBuilder OWN_TEXT(folder) = {0};
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        text_builder_deinit(&folder);
        text_append_bytes(&folder, path, (size_t)(slash - path));
        TRY(text_builder_check(&folder));
        if (mkdir(text_builder_get(&folder), S_IRWXU) != 0 && errno != EEXIST)
            FAIL(
                IO, "the folder %s cannot be made: %s", text_builder_get(&folder), strerror(errno));
    }
    return NULL;
}

static Error *set_value(Profile *profile, ProfileKey key, const char *option, const char *value) {
    if (strlen(value) >= PROFILE_VALUE_SIZE)
        FAIL(USAGE, "%s has more than %d bytes", option, PROFILE_VALUE_SIZE - 1);
    (void)snprintf(profile->values[key], PROFILE_VALUE_SIZE, "%s", value);
    return NULL;
}

/* The profile is read from any folder, so its paths are whole. */
static Error *set_ca_file(Profile *profile, const char *file) {
    char whole[PATH_MAX];
    if (!realpath(file, whole)) FAIL(NOT_FOUND, "--ca-file %s: %s", file, strerror(errno));
    return set_value(profile, PROFILE_CA_FILE, "--ca-file", whole);
}

/* Reads what the command line does not say. */
static Error *ask(const CommandContext *context, Profile *profile, char token[SECRET_LINE_SIZE]) {
    const char *ca_file = command_option(context, "ca-file");
    char server[SECRET_LINE_SIZE] = "";
    bool tls;
    if (context->argument_count > 0)
        TRY(set_value(profile, PROFILE_SERVER, "the server", context->arguments[0]));
    else {
        TRY(error_wrap(secret_line_ask("server", false, server), "the server"));
        TRY(set_value(profile, PROFILE_SERVER, "the server", server));
    }
    if (!*profile->values[PROFILE_SERVER]) FAIL(USAGE, "login: the server is missing");
    TRY(server_url_check(profile->values[PROFILE_SERVER], &tls));
    if (ca_file) TRY(set_ca_file(profile, ca_file));
    if (context->tenant) TRY(set_value(profile, PROFILE_TENANT, "--tenant", context->tenant));
    return error_wrap(
        secret_line_ask("token (it is not shown; none for a socket of this user)", true, token),
        "the token");
}

/* Asks the server for its version with the token. */
static Error *check(const Profile *profile, const char *token, json_object **out) {
    OWN(HttpClient, client) = NULL;
    const char *tenant = profile->values[PROFILE_TENANT], *ca = profile->values[PROFILE_CA_FILE];
    const HttpClientOptions options = {
        .server = profile->values[PROFILE_SERVER],
        .token = *token ? token : NULL,
        .tenant = *tenant ? tenant : NULL,
        .ca_file = *ca ? ca : NULL,
    };
    TRY(http_client_open(&options, &client));
    return error_wrap(remote_ask_route(client, ROUTE_SERVER, NULL, out),
        "nothing is stored, since the server refused or did not answer");
}

/* Between the two writes no profile may join the old server and the new token. */
static Error *store(const Target *target, Profile *profile, const char *token) {
    Profiles OWN_PROFILES(without) = {0};
    TRY(make_folders(target->path));
    TRY(profiles_write(target->path, &target->profiles, target->name, NULL));
    TRY(profiles_read(target->path, &without));
    if (*token) {
        TRY(private_file_write_line(target->token_path, token));
        TRY(set_value(profile, PROFILE_TOKEN_FILE, "the token's file", target->token_name));
    } else
        (void)unlink(target->token_path);
    return profiles_write(target->path, &without, target->name, profile);
}

static void print_login(json_object *answer) {
    printf("profile %s: %s, layover %s\n", remote_text(answer, "profile"),
        remote_text(answer, "server"), remote_text(answer, "version"));
}

static Error *run_login(
    const CommandContext *context, Profile *profile, char token[SECRET_LINE_SIZE]) {
    OWN_TARGET(target) = {0};
    OWN_JSON(server) = NULL;
    json_object *answer;
    TRY(find_target(context, &target));
    (void)snprintf(profile->name, sizeof profile->name, "%s", target.name);
    TRY(ask(context, profile, token));
    TRY(check(profile, token, &server));
    TRY(store(&target, profile, token));
    TRY(json_fields_create(&answer));
    json_fields_text(answer, "profile", target.name);
    json_fields_text(answer, "server", profile->values[PROFILE_SERVER]);
    json_fields_text_or_null(answer, "tenant", profile->values[PROFILE_TENANT]);
    json_fields_text(answer, "version", remote_text(server, "version"));
    json_fields_text(answer, "file", target.path);
    return remote_show(context, answer, print_login);
}

Error *command_login(CommandContext *context) {
    char token[SECRET_LINE_SIZE] = "";
    Profile profile = {0};
    Error *error = run_login(context, &profile, token);
    explicit_bzero(token, sizeof token);
    return error;
}

static void print_logout(json_object *answer) {
    printf("profile %s forgotten\n", remote_text(answer, "profile"));
}

/* Only the file that login makes is deleted; another one is its owner's. */
Error *command_logout(CommandContext *context) {
    OWN_TARGET(target) = {0};
    json_object *answer;
    TRY(find_target(context, &target));
    const Profile *profile = profiles_find(&target.profiles, target.name);
    if (!profile) FAIL(NOT_FOUND, "%s has no profile %s", target.path, target.name);
    if (strcmp(profile->values[PROFILE_TOKEN_FILE], target.token_name) == 0 &&
        unlink(target.token_path) != 0 && errno != ENOENT)
        FAIL(IO, "%s cannot be deleted: %s", target.token_path, strerror(errno));
    TRY(profiles_write(target.path, &target.profiles, target.name, NULL));
    TRY(json_fields_create(&answer));
    json_fields_text(answer, "profile", target.name);
    json_fields_text(answer, "file", target.path);
    return remote_show(context, answer, print_logout);
}
