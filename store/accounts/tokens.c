#include "store/accounts/tokens.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/allocator.h"
#include "base/clock.h"
#include "base/system_random.h"
#include "base/text.h"
#include "store/database/job_id.h"
#include "store/database/store_connections_internal.h"

/* "layover-", the id, "-", 64 hexadecimal digits. */
enum { SECRET_SIZE = 32, SECRET_TEXT_SIZE = 2 * SECRET_SIZE };
static const char prefix[] = "layover-";

static const char *const role_names[TOKEN_ROLE_COUNT] = {
#define TOKEN_ROLE(name, number, text, meaning) [number] = text,
#include "store/accounts/token_roles.def"
#undef TOKEN_ROLE
};

void token_list_release(TokenList *list) {
    if (!list) return;
    memory_free(list->items);
    memory_free(list);
}

const char *tokens_role_name(TokenRole role) {
    assert(role > TOKEN_ROLE_NONE && role < TOKEN_ROLE_COUNT);
    return role_names[role];
}

bool tokens_find_role(const char *name, TokenRole *out) {
    for (int i = TOKEN_ROLE_NONE + 1; i < TOKEN_ROLE_COUNT; i++)
        if (strcmp(role_names[i], name) == 0) {
            *out = (TokenRole)i;
            return true;
        }
    return false;
}

static Error *check_tenant(Connection *catalog, TenantId tenant, TokenRole role) {
    bool is_node = role == TOKEN_ROLE_NODE;
    if (is_node && tenant != TOKEN_TENANT_NONE)
        FAIL(INVALID, "a node's token is for all tenants; leave the tenant out");
    if (is_node) return NULL;
    if (tenant == TOKEN_TENANT_NONE)
        FAIL(INVALID, "a token with the role %s acts for a tenant; name one",
            tokens_role_name(role));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_TENANT);
    query_bind_i64(&query, 1, tenant);
    bool found;
    TRY(query_next(&query, &found));
    if (!found) FAIL(NOT_FOUND, "no such tenant");
    return NULL;
}

static Error *insert(
    Connection *catalog, TenantId tenant, TokenRole role, const Digest *hash, int64_t *out_id) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_INSERT_TOKEN);
    if (tenant != TOKEN_TENANT_NONE) query_bind_i64(&query, 1, tenant);
    query_bind_i64(&query, 2, role);
    query_bind_f64(&query, 3, clock_real().calendar_s(clock_real().self));
    query_bind_digest(&query, 4, hash);
    return query_insert(&query, out_id);
}

/* Reads the next row, if there is one. */
static Error *read_row(Query *query, bool *out_found, Token *out, Digest *out_hash) {
    Token token = {0};
    int64_t role;
    TRY(query_next(query, out_found));
    if (!*out_found) return NULL;
    TRY(query_i64(query, 0, &token.id));
    TRY(query_i64(query, 1, &role));
    TRY(query_f64(query, 2, &token.created));
    if (!query_is_null(query, 3)) {
        TRY(query_i64(query, 3, &token.tenant));
        TRY(query_text(query, 4, token.tenant_name, sizeof token.tenant_name));
    }
    TRY(query_digest(query, 5, out_hash));
    if (!query_is_null(query, 6)) TRY(query_size(query, 6, &token.node));
    if (role <= TOKEN_ROLE_NONE || role >= TOKEN_ROLE_COUNT)
        FAIL(CORRUPT, "catalog.db: a token of an unknown role; run fsck");
    token.role = (TokenRole)role;
    *out = token;
    return NULL;
}

static Error *read_by_id(
    Connection *catalog, int64_t id, bool *out_found, Token *out, Digest *out_hash) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_TOKEN);
    query_bind_i64(&query, 1, id);
    return read_row(&query, out_found, out, out_hash);
}

Error *tokens_create(Connection *catalog, TenantId tenant, TokenRole role, Token *out_token,
    char out_text[TOKEN_TEXT_SIZE]) {
    uint8_t secret[SECRET_SIZE];
    char digits[SECRET_TEXT_SIZE + 1];
    Digest hash;
    int64_t id;
    bool found;
    TRY(check_tenant(catalog, tenant, role));
    TRY(system_random(secret, sizeof secret));
    TRY(digest_sha256(secret, sizeof secret, &hash));
    TRY(insert(catalog, tenant, role, &hash, &id));
    TRY(read_by_id(catalog, id, &found, out_token, &hash));
    text_hex(secret, sizeof secret, digits);
    (void)snprintf(out_text, TOKEN_TEXT_SIZE, "%s%" PRId64 "-%s", prefix, id, digits);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(digits, sizeof digits);
    return NULL;
}

Error *tokens_revoke(Connection *catalog, int64_t id) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_DELETE_TOKEN);
    query_bind_i64(&query, 1, id);
    bool found;
    int64_t deleted;
    TRY(query_find_i64(&query, &found, &deleted));
    if (!found) FAIL(NOT_FOUND, "no token %lld", (long long)id);
    return NULL;
}

/* Checks that the node has no token yet: a second token would allow another caller to act as the
 * node. */
static Error *check_unbound(Connection *catalog, uint64_t node) {
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_FIND_NODE_TOKEN);
    bool found;
    int64_t id;
    query_bind_i64(&query, 1, (int64_t)node);
    TRY(query_find_i64(&query, &found, &id));
    if (found) FAIL(REFUSED, "this node has the token %lld; revoke that first", (long long)id);
    return NULL;
}

Error *tokens_bind_node(Connection *catalog, int64_t id, uint64_t node) {
    bool found;
    Token token;
    Digest hash;
    if (node < 1 || node > JOB_ID_NODE_MAX) FAIL(INVALID, "no node has this number");
    TRY(read_by_id(catalog, id, &found, &token, &hash));
    if (!found) FAIL(NOT_FOUND, "no token %lld", (long long)id);
    if (token.role != TOKEN_ROLE_NODE)
        FAIL(INVALID, "token %lld has the role %s; only a node's belongs to one", (long long)id,
            tokens_role_name(token.role));
    if (token.node == node) return NULL;
    if (token.node) FAIL(REFUSED, "this token belongs to another node; make one for each");
    TRY(check_unbound(catalog, node));
    Query OWN_QUERY(query) = query_start(catalog, STATEMENT_BIND_TOKEN);
    query_bind_i64(&query, 1, id);
    query_bind_i64(&query, 2, (int64_t)node);
    return query_run(&query);
}

Error *tokens_list(Store *store, int64_t after, size_t count_max, TokenList **out_list) {
    OWN(TokenList, list) = NULL;
    TRY(memory_alloc(1, sizeof *list, (void **)&list));
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    size_t capacity = 0;
    for (int64_t last = after; list->count < count_max;) {
        bool found;
        Digest hash;
        TRY(memory_grow((void **)&list->items, list->count, &capacity, sizeof *list->items));
        Query OWN_QUERY(query) = query_start(catalog, STATEMENT_READ_TOKEN_AFTER);
        query_bind_i64(&query, 1, last);
        TRY(read_row(&query, &found, &list->items[list->count], &hash));
        if (!found) break;
        last = list->items[list->count++].id;
    }
    *out_list = TAKE(list);
    return NULL;
}

/* False unless the text has a token's form. */
static bool parse(const char *text, int64_t *out_id, uint8_t out_secret[SECRET_SIZE]) {
    char id[24];
    if (!text_starts_with(text, prefix)) return false;
    text += sizeof prefix - 1;
    size_t digits = strspn(text, "0123456789");
    if (digits < 1 || digits >= sizeof id || text[digits] != '-') return false;
    memcpy(id, text, digits);
    id[digits] = 0;
    return text_parse_i64(id, out_id) && text_parse_hex(text + digits + 1, out_secret, SECRET_SIZE);
}

/* Compares every byte, so that the time does not tell where the digests differ. */
static bool is_equal_in_constant_time(const Digest *a, const Digest *b) {
    volatile uint8_t difference = 0;
    for (int i = 0; i < DIGEST_SIZE; i++)
        difference = (uint8_t)(difference | (a->bytes[i] ^ b->bytes[i]));
    return difference == 0;
}

Error *tokens_check(Store *store, const char *text, Token *out_token) {
    uint8_t secret[SECRET_SIZE];
    int64_t id;
    bool found;
    Token token;
    Digest hash, expected = {{0}};
    if (!parse(text, &id, secret)) FAIL(REFUSED, "this token is not valid");
    TRY(digest_sha256(secret, sizeof secret, &hash));
    explicit_bzero(secret, sizeof secret);
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(read_by_id(catalog, id, &found, &token, &expected));
    bool right = is_equal_in_constant_time(&hash, &expected);
    if (!found || !right) FAIL(REFUSED, "this token is not valid");
    *out_token = token;
    return NULL;
}

Error *tokens_find(Store *store, int64_t id, Token *out_token) {
    bool found;
    Digest hash;
    OWN(Connection, catalog) = NULL;
    TRY(store_borrow_reader(store, DATABASE_CATALOG, &catalog));
    TRY(read_by_id(catalog, id, &found, out_token, &hash));
    if (!found) FAIL(REFUSED, "this token is not valid");
    return NULL;
}
