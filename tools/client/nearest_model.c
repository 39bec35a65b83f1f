#include "tools/client/nearest_model.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "scheduler/http/client/json_body.h"
#include "tools/client/model_access.h"
#include "tools/client/remote.h"

/* The nearest name so far. The names that are tried live only for the time of the call. */
typedef struct Search {
    Nearest nearest;
    char found[MODEL_NAME_SIZE];
    bool exists; /* the wanted name itself: another part of the reference is wrong */
} Search;

static void try_name(Search *search, const char *name) {
    const char *before = search->nearest.found;
    if (strcmp(name, search->nearest.wanted) == 0) search->exists = true;
    nearest_try(&search->nearest, name);
    if (search->nearest.found == before) return;
    (void)snprintf(search->found, sizeof search->found, "%s", name);
    search->nearest.found = search->found;
}

static Error *try_line(void *self, const char *line) {
    OWN_JSON(model) = NULL;
    TRY(remote_parse(line, &model));
    try_name(self, remote_text(model, "model"));
    return NULL;
}

static Error *try_all(const CommandContext *context, Search *search) {
    ModelAccess OWN_ACCESS(access) = {0};
    OWN(HttpClient, client) = NULL;
    OWN(ModelList, list) = NULL;
    TRY(remote_find(context, &client));
    if (client) {
        TextBuilder OWN_TEXT(path) = {0};
        remote_path(&path, ROUTE_MODEL_LIST, NULL);
        return remote_visit_lines(client, HTTP_METHOD_GET, &path, NULL, try_line, search);
    }
    TRY(model_access_open(context, false, &access));
    TRY(models_list(access.store, access.tenant, &list));
    for (size_t i = 0; i < list->count; i++) try_name(search, list->items[i].model);
    return NULL;
}

Error *nearest_model_explain(const CommandContext *context, Error *owned_error) {
    const char *reference = command_find_reference(context);
    char wanted[MODEL_NAME_SIZE];
    if (!reference || error_code(owned_error) != ERROR_NOT_FOUND) return owned_error;
    if (!text_starts_with(error_message(owned_error), "no model ")) return owned_error;
    const size_t length = strcspn(reference, "@");
    if (length >= sizeof wanted) return owned_error;
    (void)snprintf(wanted, sizeof wanted, "%.*s", (int)length, reference);
    Search search = {.nearest = nearest_to(wanted)};
    error_free(try_all(context, &search)); /* the first error is the one to report */
    if (!search.nearest.found || search.exists) return owned_error;
    Error *explained = error_make(ERROR_NOT_FOUND, __FILE__, __LINE__, "%s" NEAREST_TEXT,
        error_message(owned_error), NEAREST_NAME(search.nearest, ""));
    error_free(owned_error);
    return explained;
}
