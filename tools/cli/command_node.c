#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scheduler/http/client/json_fields.h"
#include "store/accounts/tokens.h"
#include "tools/client/route_call.h"
#include "tools/remote/private_file.h"

const CommandOption command_node_options[] = {
    {"token", "T", false, "of add: made there with token create --role node"},
    {"token-file", "FILE", false,
        "the same from a file of mode 0600, where no list of processes shows it"},
    {"fingerprint", "F", false, "of add: its key, as that node's serve says; default: is asked"},
    {0},
};

enum { ANSWER_SIZE = 16 };

static void print_node(json_object *node) {
    const char *key = remote_text(node, "fingerprint");
    printf("%-24s %s  %s%s%s\n", remote_text(node, "node"), remote_text(node, "number"),
        remote_text(node, "url"), *key ? "  " : "", key);
}

static void print_line(json_object *node) {
    print_node(node);
    if (remote_flag(node, "reachable"))
        printf("  answers: layover %s, %lld devices, %lld jobs, of which %lld wait\n",
            remote_text(node, "layover"), (long long)remote_int(node, "devices"),
            (long long)remote_int(node, "unfinished"), (long long)remote_int(node, "waiting"));
    else
        printf("  %s\n", remote_text(node, "error"));
}

static const RouteCall remove_node = {
    .route = ROUTE_NODE_REMOVE,
    .skipped = 1,
    .line = "node {node} removed",
};

static Error *find_token(const CommandContext *context, char out[TOKEN_TEXT_SIZE]) {
    const char *text = command_option(context, "token");
    const char *path = command_option(context, "token-file");
    if (!text == !path)
        FAIL(USAGE, "node add: one of --token and --token-file is wanted; it is made there with "
                    "token create --role node");
    char *line = NULL;
    if (path) TRY(error_wrap(private_file_read_line(path, &line), "--token-file"));
    const char *token = path ? line : text;
    const bool fits = strlen(token) < TOKEN_TEXT_SIZE;
    if (fits) (void)snprintf(out, TOKEN_TEXT_SIZE, "%s", token);
    private_file_release(line);
    if (!fits) FAIL(INVALID, "%s: this is no token", path ? "--token-file" : "--token");
    return NULL;
}

/* Asks only on a terminal, where a person can compare the key. */
static bool is_trusted(const char *url, const char *key) {
    char answer[ANSWER_SIZE];
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return false;
    (void)fprintf(
        stderr, "%s has the key\n  %s\nIs that what layover serve says there? [y/N] ", url, key);
    if (!fgets(answer, sizeof answer, stdin)) return false;
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

typedef struct NodeAddition {
    const CommandContext *context;
    HttpClient *client;
    char token[TOKEN_TEXT_SIZE];
    char key[128]; /* "" while no key is trusted */
} NodeAddition;

/* out_shown: the key that the daemon found at the address; "" if the error is another one. */
static Error *post(const NodeAddition *addition, json_object **out, char out_shown[128]) {
    HttpClientReply OWN_REPLY(reply) = {0};
    const CommandContext *context = addition->context;
    json_object *body, *refusal;
    out_shown[0] = 0;
    TRY(json_fields_create(&body));
    json_fields_text(body, "node", context->arguments[1]);
    json_fields_text(body, "url", context->arguments[2]);
    json_fields_text(body, "token", addition->token);
    if (*addition->key) json_fields_text(body, "fingerprint", addition->key);
    HttpClientCall call = {.method = HTTP_METHOD_POST,
        .path = route_info(ROUTE_NODE_ADD)->pattern,
        .json = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN)};
    Error *error = http_client_call(addition->client, &call, &reply);
    json_object_put(body);
    if (!error) return remote_parse(text_builder_get(&reply.text), out);
    if (error_code(error) != ERROR_CONFLICT) return error;
    Error *unread = remote_parse(text_builder_get(&reply.text), &refusal);
    error_free(unread); /* without a readable body, the refusal itself is the error */
    if (unread) return error;
    (void)snprintf(out_shown, 128, "%s", remote_text(refusal, "fingerprint"));
    json_object_put(refusal);
    return error;
}

static Error *add(const CommandContext *context, HttpClient *client) {
    NodeAddition addition = {.context = context, .client = client};
    const char *key = command_option(context, "fingerprint");
    char shown[128];
    json_object *node;
    if (key && (!*key || strlen(key) >= sizeof addition.key))
        FAIL(INVALID, "--fingerprint: this is no fingerprint");
    if (key) (void)snprintf(addition.key, sizeof addition.key, "%s", key);
    TRY(find_token(context, addition.token));
    Error *error = post(&addition, &node, shown);
    if (error && *shown) {
        if (!is_trusted(context->arguments[2], shown))
            return error_wrap(error, "the key is not trusted yet (--fingerprint)");
        error_free(error); /* the user trusts the key now */
        (void)snprintf(addition.key, sizeof addition.key, "%s", shown);
        error = post(&addition, &node, shown);
    }
    explicit_bzero(addition.token, sizeof addition.token);
    TRY(error);
    return remote_show(context, node, print_node);
}

/* add NAME URL, list, remove NAME */
Error *command_node(CommandContext *context) {
    const char *what = context->arguments[0];
    bool adds = strcmp(what, "add") == 0 && context->argument_count == 3;
    bool lists = strcmp(what, "list") == 0 && context->argument_count == 1;
    bool removes = strcmp(what, "remove") == 0 && context->argument_count == 2;
    OWN(HttpClient, client) = NULL;
    TextBuilder OWN_TEXT(path) = {0};
    if (!(adds || lists || removes))
        FAIL(USAGE, "node: add NAME URL, list or remove NAME is wanted");
    if (removes) return route_call_run(context, &remove_node);
    TRY(remote_need(context, &client));
    if (adds) return add(context, client);
    remote_path(&path, ROUTE_NODE_LIST, NULL);
    return remote_list(context, client, &path, NULL, print_line);
}
