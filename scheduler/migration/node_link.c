#include "scheduler/migration/node_link.h"

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/server_url.h"
#include "store/database/job_id.h"

Error *node_link_open(const Node *node, HttpClient **out) {
    bool tls;
    TRY(server_url_check(node->url, &tls));
    if (tls && !*node->fingerprint)
        FAIL(INVALID, "%s: no key is trusted there; give the fingerprint of its key", node->url);
    HttpClientOptions options = {
        .server = node->url,
        .token = node->token,
        .pinned_key = *node->fingerprint ? node->fingerprint : NULL,
        .no_proxy = true,
        .connect_limit_ms = NODE_LINK_CONNECT_MS,
        .silence_limit_s = NODE_LINK_SILENCE_S,
    };
    return http_client_open(&options, out);
}

Error *node_link_open_number(Store *store, uint64_t number, Node *out_node, HttpClient **out) {
    bool found;
    char text[JOB_ID_NODE_TEXT_SIZE];
    TRY(nodes_find(store, number, &found, out_node));
    if (found) return node_link_open(out_node, out);
    job_id_print_node(number, text);
    FAIL(UNREACHABLE, "node %s is not known here any more: `layover node add` it", text);
}

Error *node_link_ask_within(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, uint32_t limit_ms, json_object **out) {
    HttpClientReply OWN_REPLY(reply) = {0};
    OWN_JSON(body) = owned_body;
    HttpClientCall call = {.method = method, .path = path, .limit_ms = limit_ms};
    if (body) {
        call.json = json_object_to_json_string_ext(body, JSON_C_TO_STRING_PLAIN);
        if (!call.json) FAIL(OUT_OF_MEMORY, "no memory for a request");
    }
    TRY(http_client_call(client, &call, &reply));
    Error *error = json_body_parse(text_builder_get(&reply.text), reply.text.size, out);
    return error_recode(error_wrap(error, "its answer"), ERROR_CORRUPT);
}

Error *node_link_ask(HttpClient *client, HttpMethod method, const char *path,
    json_object *owned_body, json_object **out) {
    return node_link_ask_within(client, method, path, owned_body, NODE_LINK_ANSWER_MS, out);
}
