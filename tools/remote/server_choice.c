#include "tools/remote/server_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/allocator.h"
#include "tools/remote/private_file.h"
#include "scheduler/http/client/daemon_record.h"
#include "store/database/store.h"
#include "tools/remote/profiles.h"

static const char default_profile[] = "default";

static const char *from_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

bool server_choice_is_address(const char *text) { return strpbrk(text, "/:") != NULL; }

void server_choice_deinit(ServerChoice *choice) {
    private_file_release(choice->token);
    memory_free(choice->server);
    memory_free(choice->tenant);
    memory_free(choice->ca_file);
    *choice = (ServerChoice){0};
}

static Error *copy(const char *text, char **out) {
    return text ? memory_copy_text(text, out) : NULL;
}

/* A relative path of a socket gets the prefix that http_client.h asks for. */
static Error *take_address(const char *address, ServerChoice *out) {
    TextBuilder OWN_TEXT(server) = {0};
    const bool whole =
        strstr(address, "://") || address[0] == '/' || text_starts_with(address, "unix:");
    text_appendf(&server, "%s%s", whole ? "" : "unix:", address);
    return text_builder_take(&server, &out->server);
}

static Error *take_token(const ServerWish *wish, ServerChoice *out) {
    const char *file = from_environment("LAYOVER_TOKEN_FILE");
    const char *token = wish->token ? wish->token : from_environment("LAYOVER_TOKEN");
    if (token || !file) return copy(token, &out->token);
    return error_wrap(private_file_read_line(file, &out->token), "LAYOVER_TOKEN_FILE");
}

/* A server that no profile describes. */
static Error *choose_address(const ServerWish *wish, const char *address, ServerChoice *out) {
    TRY(take_address(address, out));
    TRY(take_token(wish, out));
    TRY(copy(wish->tenant, &out->tenant));
    return copy(wish->ca_file ? wish->ca_file : from_environment("LAYOVER_CA"), &out->ca_file);
}

static Error *choose_home(const ServerWish *wish, const char *home, ServerChoice *out) {
    char *socket = NULL;
    TRY(daemon_record_find(home, &socket));
    Error *error = socket ? choose_address(wish, socket, out) : NULL;
    memory_free(socket);
    return error;
}

static Error *take_profile_token(const char *path, const Profile *profile, ServerChoice *out) {
    char *file;
    const char *value = profile->values[PROFILE_TOKEN_FILE];
    if (!*value) return NULL;
    TRY(profiles_resolve(path, value, &file));
    Error *error = private_file_read_line(file, &out->token);
    memory_free(file);
    return error;
}

static Error *take_profile(
    const ServerWish *wish, const char *path, const Profile *profile, ServerChoice *out) {
    const char *tenant = profile->values[PROFILE_TENANT], *ca = profile->values[PROFILE_CA_FILE];
    TRY(take_address(profile->values[PROFILE_SERVER], out));
    TRY(wish->token ? copy(wish->token, &out->token) : take_profile_token(path, profile, out));
    TRY(copy(wish->tenant ? wish->tenant : *tenant ? tenant : NULL, &out->tenant));
    if (wish->ca_file || !*ca) return copy(wish->ca_file, &out->ca_file);
    return profiles_resolve(path, ca, &out->ca_file);
}

/* name NULL: the profile "default", if there is one. */
static Error *choose_in_file(
    const ServerWish *wish, const char *path, const char *name, ServerChoice *out) {
    Profiles OWN_PROFILES(profiles) = {0};
    TRY(profiles_read(path, &profiles));
    const Profile *profile = profiles_find(&profiles, name ? name : default_profile);
    if (!profile && name)
        FAIL(NOT_FOUND, "%s has no profile %s; layover login makes one", path, name);
    if (!profile) return NULL;
    return error_wrap(take_profile(wish, path, profile, out), "the profile %s", profile->name);
}

static Error *choose_profile(const ServerWish *wish, const char *name, ServerChoice *out) {
    char *path = NULL;
    Error *error = profiles_find_path(&path);
    if (error && !name) {
        error_free(error); /* without a place for it, there is no file of profiles */
        return NULL;
    }
    TRY(error);
    error = choose_in_file(wish, path, name, out);
    memory_free(path);
    return error;
}

static Error *choose_default_home(const ServerWish *wish, ServerChoice *out) {
    char *home;
    Error *error = store_default_home(&home);
    if (error) {
        error_free(error); /* without a home there is no daemon */
        return NULL;
    }
    error = *home ? choose_home(wish, home, out) : NULL;
    memory_free(home);
    return error;
}

static Error *choose(const ServerWish *wish, ServerChoice *out) {
    const char *server = from_environment("LAYOVER_SERVER");
    const char *profile = from_environment("LAYOVER_PROFILE");
    if (wish->server)
        return server_choice_is_address(wish->server) ? choose_address(wish, wish->server, out)
                                                      : choose_profile(wish, wish->server, out);
    if (server) return choose_address(wish, server, out);
    if (wish->home) return *wish->home ? choose_home(wish, wish->home, out) : NULL;
    if (profile) return choose_profile(wish, profile, out);
    if (!from_environment("LAYOVER_HOME")) TRY(choose_profile(wish, NULL, out));
    return out->server ? NULL : choose_default_home(wish, out);
}

Error *server_choice_find(const ServerWish *wish, ServerChoice *out) {
    ServerChoice OWN_CHOICE(choice) = {0};
    TRY(choose(wish, &choice));
    *out = choice;
    choice = (ServerChoice){0};
    return NULL;
}

Error *server_choice_open(const ServerChoice *choice, HttpClient **out) {
    const HttpClientOptions options = {
        .server = choice->server,
        .token = choice->token,
        .tenant = choice->tenant,
        .ca_file = choice->ca_file,
    };
    return http_client_open(&options, out);
}
