#include "store/accounts/nodes.h"

#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/text.h"
#include "store/database/job_id.h"
#include "store/database/store_connections_internal.h"
#include "store/database/store_name.h"

void node_list_release(NodeList *list) {
    if (!list) return;
    for (size_t i = 0; i < list->count; i++)
        explicit_bzero(list->items[i].token, sizeof list->items[i].token);
    memory_free(list->items);
    memory_free(list);
}

static Error *check(const Node *node) {
    TRY(store_name_check("node", node->name));
    if (node->node < 1 || node->node > JOB_ID_NODE_MAX)
        FAIL(INVALID, "node %s: %llu is no node's number", node->name,
            (unsigned long long)node->node);
    if (!*node->url || !text_is_utf8(node->url, strlen(node->url)))
        FAIL(INVALID, "node %s: it has no address", node->name);
    return NULL;
}

/* Reads the next row, if there is one. out_id: the row's id. */
static Error *read_row(Query *query, bool *out_found, int64_t *out_id, Node *out) {
    Node node = {0};
    int64_t id;
    TRY(query_next(query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(query, 0, &id));
    TRY(query_text(query, 1, node.name, sizeof node.name));
    TRY(query_size(query, 2, &node.node));
    TRY(query_text(query, 3, node.url, sizeof node.url));
    TRY(query_text(query, 4, node.token, sizeof node.token));
    if (!query_is_null(query, 5))
        TRY(query_text(query, 5, node.fingerprint, sizeof node.fingerprint));
    TRY(query_f64(query, 6, &node.created));
    *out_id = id;
    *out = node;
    return NULL;
}

static Error *read_by_name(
    Connection *catalog, const char *name, bool *out_found, int64_t *out_id, Node *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_NODE);
    query_bind_text(&query, 1, name);
    return read_row(&query, out_found, out_id, out);
}

static Error *read_by_number(
    Connection *catalog, uint64_t number, bool *out_found, int64_t *out_id, Node *out) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_NODE);
    *out_found = false;
    if (number > JOB_ID_NODE_MAX) return NULL;
    query_bind_i64(&query, 1, (int64_t)number);
    return read_row(&query, out_found, out_id, out);
}

static void bind_address(Query *query, const Node *node) {
    query_bind_text(query, 1, node->url);
    query_bind_text(query, 2, node->token);
    if (*node->fingerprint) query_bind_text(query, 3, node->fingerprint);
}

static Error *insert(Connection *catalog, const Node *node) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_NODE);
    bind_address(&query, node);
    query_bind_text(&query, 4, node->name);
    query_bind_i64(&query, 5, (int64_t)node->node);
    query_bind_f64(&query, 6, clock_real().calendar_s(clock_real().self));
    return query_run(&query);
}

static Error *update(Connection *catalog, int64_t id, const Node *node) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_SET_NODE);
    bind_address(&query, node);
    query_bind_i64(&query, 4, id);
    return query_run(&query);
}

Error *nodes_add(Connection *catalog, const Node *node) {
    bool named, numbered;
    int64_t id = 0, other_id;
    Node old, other;
    TRY(check(node));
    TRY(read_by_name(catalog, node->name, &named, &id, &old));
    TRY(read_by_number(catalog, node->node, &numbered, &other_id, &other));
    if (named && old.node != node->node)
        FAIL(CONFLICT, "node %s is another home; remove it first", node->name);
    if (numbered && strcmp(other.name, node->name) != 0)
        FAIL(CONFLICT, "this home is known already, as node %s", other.name);
    return named ? update(catalog, id, node) : insert(catalog, node);
}

static Error *check_idle(Connection *catalog, const Node *node) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_COUNT_NODE_JOBS);
    bool row;
    int64_t departures, arrivals;
    query_bind_i64(&query, 1, (int64_t)node->node);
    TRY(query_next(&query, &row));
    if (!row) return NULL;
    TRY(query_i64(&query, 0, &departures));
    TRY(query_i64(&query, 1, &arrivals));
    if (departures + arrivals == 0) return NULL;
    FAIL(CONFLICT, "node %s: %lld jobs are on their way to it and %lld from it", node->name,
        (long long)departures, (long long)arrivals);
}

Error *nodes_remove(Connection *catalog, const char *name) {
    bool found;
    int64_t id;
    Node node;
    TRY(read_by_name(catalog, name, &found, &id, &node));
    if (!found) FAIL(NOT_FOUND, "no node %.80s", name);
    TRY(check_idle(catalog, &node));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_NODE);
    query_bind_i64(&query, 1, id);
    return query_run(&query);
}

Error *nodes_list_page(Store *store, const char *after, size_t count_max, NodeList **out_list) {
    OWN(NodeList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    size_t capacity = 0;
    for (const char *last = after; list->count < count_max;) {
        bool found;
        int64_t id;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        if (list->count) last = list->items[list->count - 1].name;
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_NODE_AFTER);
        query_bind_text(&query, 1, last);
        TRY(read_row(&query, &found, &id, &list->items[list->count]));
        if (!found) break;
        list->count++;
    }
    *out_list = TAKE(list);
    return NULL;
}

Error *nodes_list(Store *store, NodeList **out_list) {
    return nodes_list_page(store, "", SIZE_MAX, out_list);
}

Error *nodes_get(Store *store, const char *name, Node *out) {
    OWN(Connection, catalog) = NULL;
    bool found;
    int64_t id;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(read_by_name(catalog, name, &found, &id, out));
    if (!found) FAIL(NOT_FOUND, "no node %.80s", name);
    return NULL;
}

Error *nodes_find(Store *store, uint64_t number, bool *out_found, Node *out) {
    OWN(Connection, catalog) = NULL;
    int64_t id;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    return read_by_number(catalog, number, out_found, &id, out);
}
