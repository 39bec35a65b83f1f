#pragma once
/* Tokens: who may come in over the network, as which tenant and role. Only hashes are stored. */
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
#define TOKEN_TENANT_NONE 0    /* of a token that is for all tenants */

typedef struct Token {
    int64_t id;
    TokenRole role;
    double created;                     /* seconds since 1970 */
    TenantId tenant;                    /* whom it acts for; TOKEN_TENANT_NONE for none */
    char tenant_name[TENANT_NAME_SIZE]; /* "" for none */
    uint64_t node;                      /* the node that a node's token is bound to; 0: none yet */
} Token;

typedef struct TokenList {
    Token *items; /* in the order in which they were made */
    size_t count;
} TokenList;

void token_list_release(TokenList *list);
DEFINE_OWN(TokenList, token_list_release);

/* "admin". role: not NONE. */
const char *tokens_role_name(TokenRole role);
bool tokens_find_role(const char *name, TokenRole *out);

/* Makes a token with 256 random bits. Its text is answered here and never again.
 *
 * tenant: whom it acts for; TOKEN_TENANT_NONE for a node's.
 * Errors: NOT_FOUND no such tenant; INVALID a user or admin without a tenant, a node with one; IO
 *         the system has no random numbers. */
MUST_CHECK Error *tokens_create(Connection *catalog, TenantId tenant, TokenRole role,
    Token *out_token, char out_text[TOKEN_TEXT_SIZE]);
/* Errors: NOT_FOUND. */
MUST_CHECK Error *tokens_revoke(Connection *catalog, int64_t id);
/* Of a node's token: binds it to the node that uses it, which is the first one and no other.
 * Errors: NOT_FOUND; INVALID a token with another role, or no node's number; REFUSED it is bound to
 *         another node, or the node to another token. */
MUST_CHECK Error *tokens_bind_node(Connection *catalog, int64_t id, uint64_t node);
/* Those with an id above after, count_max at most. */
MUST_CHECK Error *tokens_list(Store *store, int64_t after, size_t count_max, TokenList **out_list);
/* Whose token this is. Takes as long for a wrong secret as for the right one.
 * Errors: REFUSED it is none. */
MUST_CHECK Error *tokens_check(Store *store, const char *text, Token *out_token);
