#pragma once
/* Tokens: each gives its holder access over the network, as a tenant with a role. The store keeps
 * only hashes. Callers: the HTTP server through scheduler/node, the HTTP routes, the commands token
 * and node. Threads: functions with a Connection run in catalog work (catalog.h), the others in any
 * thread.
 * */
#include <stddef.h>
#include <stdint.h>

#include "store/database/store.h"
#include "store/accounts/tenants.h"

typedef enum TokenRole {
    TOKEN_ROLE_NONE = 0,
#define TOKEN_ROLE(name, number, text, meaning) TOKEN_ROLE_##name = number,
#include "store/accounts/token_roles.def"
#undef TOKEN_ROLE
    TOKEN_ROLE_COUNT
} TokenRole;

enum { TOKEN_TEXT_SIZE = 96 }; /* with the terminating NUL */
#define TOKEN_TENANT_NONE 0    /* the tenant of a token for all tenants */

typedef struct Token {
    int64_t id;
    TokenRole role;
    double created;  /* seconds since 1970 */
    TenantId tenant; /* the tenant that the token acts for; TOKEN_TENANT_NONE for none */
    char tenant_name[TENANT_NAME_SIZE]; /* "" for none */
    uint64_t node;                      /* the node that a node's token is bound to; 0: none yet */
} Token;

typedef struct TokenList {
    Token *items; /* in the order of their creation */
    size_t count;
} TokenList;

void token_list_release(TokenList *list);
DEFINE_OWN(TokenList, token_list_release);

/* The role's name, such as "admin". role: not NONE. */
const char *tokens_role_name(TokenRole role);
bool tokens_find_role(const char *name, TokenRole *out);

/* Makes a token with 256 random bits. Only this call returns the token's text.
 *
 * tenant: the tenant that the token acts for; TOKEN_TENANT_NONE for a node's.
 * Errors: NOT_FOUND no such tenant; INVALID a user or admin without a tenant, a node with one; IO
 *         the system has no random numbers. */
MUST_CHECK Error *tokens_create(Connection *catalog, TenantId tenant, TokenRole role,
    Token *out_token, char out_text[TOKEN_TEXT_SIZE]);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *tokens_revoke(Connection *catalog, int64_t id);
/* Binds a node's token to the first node that uses it; no other node may use it afterwards.
 * Errors: NOT_FOUND; INVALID a token with another role, or no node's number; REFUSED the token is
 *         bound to another node, or the node to another token. */
MUST_CHECK Error *tokens_bind_node(Connection *catalog, int64_t id, uint64_t node);
/* Lists tokens with an id above after, at most count_max. */
MUST_CHECK Error *tokens_list(Store *store, int64_t after, size_t count_max, TokenList **out_list);
/* Finds the token with this text. Takes as long for a wrong secret as for the right one.
 * Errors: REFUSED no such token. */
MUST_CHECK Error *tokens_check(Store *store, const char *text, Token *out_token);
/* Finds the token with this number, for a caller that has shown its text before. Errors: REFUSED no
 * such token. */
MUST_CHECK Error *tokens_find(Store *store, int64_t id, Token *out_token);
