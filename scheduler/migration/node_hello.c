#include "scheduler/migration/node_hello.h"

#include <stdio.h>
#include <string.h>

#include "scheduler/http/client/json_body.h"
#include "scheduler/http/client/json_fields.h"
#include "scheduler/http/client/server_key.h"
#include "scheduler/migration/node_link.h"
#include "scheduler/migration/protocol.h"
#include "store/database/job_id.h"

static const char address[] = "/v1/peer", node_role[] = "node";
#define COUNT_MAX (INT64_C(1) << 53)

static Error *add_protocol(json_object *object) {
    json_object *range;
    TRY(json_fields_create(&range));
    json_fields_int(range, "min", MIGRATION_PROTOCOL_MIN);
    json_fields_int(range, "max", MIGRATION_PROTOCOL_MAX);
    json_fields_add(object, "protocol", range);
    return NULL;
}

Error *node_hello_read(json_object *body, uint64_t *out_node, int64_t *out_protocol) {
    const char *text = NULL;
    json_object *range = NULL;
    int64_t min = 0, max = 0;
    uint64_t node;
    TRY(json_body_text(body, "node", &text));
    if (!text || !job_id_parse_node(text, &node))
        FAIL(INVALID, "node: 12 hexadecimal digits are wanted");
    if (!json_object_object_get_ex(body, "protocol", &range) ||
        !json_object_is_type(range, json_type_object))
        FAIL(INVALID, "protocol: {\"min\", \"max\"} is wanted");
    TRY(json_body_number(range, "min", 1, INT32_MAX, &min));
    TRY(json_body_number(range, "max", 1, INT32_MAX, &max));
    TRY(protocol_negotiate(min, max, out_protocol));
    *out_node = node;
    return NULL;
}

Error *node_hello_answer(const NodeHello *hello, json_object **out) {
    char node[JOB_ID_NODE_TEXT_SIZE];
    OWN_JSON(object) = NULL;
    TRY(json_fields_create(&object));
    job_id_print_node(hello->node, node);
    json_fields_text(object, "node", node);
    json_fields_text(object, "role", hello->is_node ? node_role : "admin");
    TRY(add_protocol(object));
    json_fields_text(object, "layover", hello->layover);
    json_fields_int(object, "unfinished", hello->unfinished);
    json_fields_int(object, "active", hello->active);
    json_fields_int(object, "waiting", hello->waiting);
    json_fields_int(object, "devices", hello->devices);
    json_fields_add(object, "draining", json_object_new_boolean(hello->draining));
    *out = TAKE(object);
    return NULL;
}

/* Whether the text can be shown on terminals. */
static bool is_plain(const char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~') return false;
    return true;
}

static Error *read_answer(json_object *answer, NodeHello *out) {
    NodeHello hello = {0};
    const char *role = NULL, *version = "";
    TRY(node_hello_read(answer, &hello.node, &hello.protocol));
    TRY(json_body_text(answer, "role", &role));
    TRY(json_body_text(answer, "layover", &version));
    TRY(json_body_number(answer, "unfinished", 0, COUNT_MAX, &hello.unfinished));
    TRY(json_body_number(answer, "active", 0, COUNT_MAX, &hello.active));
    TRY(json_body_number(answer, "waiting", 0, COUNT_MAX, &hello.waiting));
    TRY(json_body_number(answer, "devices", 0, COUNT_MAX, &hello.devices));
    TRY(json_body_flag(answer, "draining", &hello.draining));
    if (strlen(version) >= sizeof hello.layover || !is_plain(version))
        FAIL(
            INVALID, "layover: %zu printable letters at most are wanted", sizeof hello.layover - 1);
    hello.is_node = role && strcmp(role, node_role) == 0;
    (void)snprintf(hello.layover, sizeof hello.layover, "%s", version);
    *out = hello;
    return NULL;
}

static Error *make_question(uint64_t own_node, json_object **out) {
    char node[JOB_ID_NODE_TEXT_SIZE];
    OWN_JSON(object) = NULL;
    TRY(json_fields_create(&object));
    job_id_print_node(own_node, node);
    json_fields_text(object, "node", node);
    TRY(add_protocol(object));
    *out = TAKE(object);
    return NULL;
}

static Error *say_hello(const Node *node, uint64_t own_node, uint32_t limit_ms, NodeHello *out) {
    OWN(HttpClient, client) = NULL;
    json_object *question;
    OWN_JSON(answer) = NULL;
    TRY(node_link_open(node, &client));
    TRY(make_question(own_node, &question));
    Error *error =
        node_link_ask_within(client, HTTP_METHOD_POST, address, question, limit_ms, &answer);
    /* for the caller of this home, a bad token of this home is not the caller's error */
    if (error_code(error) == ERROR_UNAUTHENTICATED) error = error_recode(error, ERROR_REFUSED);
    if (error_code(error) == ERROR_REFUSED) return error_wrap(error, "no way in");
    if (error_code(error) == ERROR_INTERNAL) error = error_recode(error, ERROR_UNREACHABLE);
    TRY(error);
    error = error_wrap(read_answer(answer, out), "its answer");
    return error_code(error) == ERROR_INVALID ? error_recode(error, ERROR_CORRUPT) : error;
}

const NodeCalls node_calls_network = {.hello = say_hello, .find_key = server_key_ask};
