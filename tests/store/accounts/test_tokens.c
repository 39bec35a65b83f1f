#include <string.h>

#include "base/file.h"
#include "store/accounts/tokens.h"
#include "tests/store/job_fixtures.h"

static void create(
    Store *store, TenantId tenant, TokenRole role, Token *out, char text[TOKEN_TEXT_SIZE]) {
    expect_ok(fixture_end(tokens_create(fixture_begin(store), tenant, role, out, text)));
}

static void test_tokens_let_their_holder_in(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    TenantId ada = fixture_add_tenant(store, "ada");
    Token made, found;
    char user[TOKEN_TEXT_SIZE], node[TOKEN_TEXT_SIZE], again[TOKEN_TEXT_SIZE];
    create(store, ada, TOKEN_ROLE_USER, &made, user);
    assert_int_equal(made.tenant, ada);
    create(store, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, &made, node);
    create(store, ada, TOKEN_ROLE_USER, &made, again);
    assert_string_not_equal(user + 10, again + 10);
    expect_ok(tokens_check(store, user, &found));
    assert_int_equal(found.tenant, ada);
    assert_string_equal(found.tenant_name, "ada");
    assert_int_equal(found.role, TOKEN_ROLE_USER);
    expect_ok(tokens_find(store, 1, &found));
    expect_ok(tokens_check(store, node, &found));
    assert_int_equal(found.tenant, TOKEN_TENANT_NONE);
    assert_string_equal(tokens_role_name(found.role), "node");
    OWN(TokenList, list) = NULL;
    expect_ok(tokens_list(store, 0, SIZE_MAX, &list));
    assert_int_equal(list->count, 3);
    for (size_t i = 0; i < 3; i++) assert_int_equal(list->items[i].id, i + 1);
    fixture_expect_clean(store);
}

/* Every text that differs in one letter, or is cut, or longer. */
static void test_tokens_refuse_everything_else(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Token token;
    char text[TOKEN_TEXT_SIZE], wrong[TOKEN_TEXT_SIZE + 1];
    create(store, TENANT_DEFAULT, TOKEN_ROLE_ADMIN, &token, text);
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        memcpy(wrong, text, size + 1);
        wrong[i] = wrong[i] == '2' ? '3' : '2';
        expect_error(tokens_check(store, wrong, &token), ERROR_REFUSED, "not valid");
        memcpy(wrong, text, i);
        wrong[i] = 0;
        expect_error(tokens_check(store, wrong, &token), ERROR_REFUSED, "not valid");
    }
    (void)snprintf(wrong, sizeof wrong, "%s0", text);
    expect_error(tokens_check(store, wrong, &token), ERROR_REFUSED, "not valid");
    expect_error(tokens_check(store, "layover-99999999999999999999-00", &token), ERROR_REFUSED, "");
    expect_ok(tokens_check(store, text, &token));
    expect_error(tokens_find(store, token.id + 1, &token), ERROR_REFUSED, "not valid");
}

static void test_tokens_that_are_revoked_are_gone(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Token token, next;
    char text[TOKEN_TEXT_SIZE], other[TOKEN_TEXT_SIZE];
    create(store, TENANT_DEFAULT, TOKEN_ROLE_USER, &token, text);
    expect_ok(fixture_end(tokens_revoke(fixture_begin(store), token.id)));
    expect_error(tokens_check(store, text, &next), ERROR_REFUSED, "not valid");
    expect_error(
        fixture_end(tokens_revoke(fixture_begin(store), token.id)), ERROR_NOT_FOUND, "no token 1");
    create(store, TENANT_DEFAULT, TOKEN_ROLE_USER, &next, other);
    assert_int_not_equal(next.id, token.id); /* the old text never means the new row */
}

static void test_tokens_are_made_for_somebody(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Token token;
    TokenRole role;
    char text[TOKEN_TEXT_SIZE];
    Connection *catalog = fixture_begin(store);
    expect_error(tokens_create(catalog, 0, TOKEN_ROLE_USER, &token, text), ERROR_INVALID, "user");
    expect_error(tokens_create(catalog, 0, TOKEN_ROLE_ADMIN, &token, text), ERROR_INVALID, "admin");
    expect_error(tokens_create(catalog, 1, TOKEN_ROLE_NODE, &token, text), ERROR_INVALID, "node's");
    expect_error(tokens_create(catalog, 9, TOKEN_ROLE_USER, &token, text), ERROR_NOT_FOUND, "");
    expect_ok(fixture_end(NULL));
    assert_true(tokens_find_role("admin", &role));
    assert_int_equal(role, TOKEN_ROLE_ADMIN);
    assert_false(tokens_find_role("root", &role));
}

/* Whoever reads the files finds nothing to come in with. */
static void test_tokens_are_not_in_the_files(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Token token;
    char text[TOKEN_TEXT_SIZE];
    uint8_t secret[32], *data;
    size_t size;
    create(store, TENANT_DEFAULT, TOKEN_ROLE_USER, &token, text);
    store_close(TAKE(store));
    const char *digits = strrchr(text, '-') + 1;
    assert_true(text_parse_hex(digits, secret, sizeof secret));
    expect_ok(file_read(fixture_path(&home, "catalog.db"), 1 << 30, &data, &size));
    assert_null(memmem(data, size, secret, sizeof secret));
    assert_null(memmem(data, size, digits, 64));
    memory_unmap(data, size);
}

static void test_tokens_of_a_node_belong_to_the_first_that_uses_them(void **state) {
    (void)state;
    TestHome OWN_HOME(home) = fixture_home_make();
    OWN(Store, store) = fixture_open(&home);
    Token node, admin, found;
    char text[TOKEN_TEXT_SIZE], other[TOKEN_TEXT_SIZE];
    create(store, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, &node, text);
    create(store, TENANT_DEFAULT, TOKEN_ROLE_ADMIN, &admin, other);
    assert_int_equal(node.node, 0);
    uint64_t before = store_settings_generation(store);
    expect_ok(fixture_end(tokens_bind_node(fixture_begin(store), node.id, 0x3f9a0c72d1e4)));
    assert_int_not_equal(store_settings_generation(store), before);
    expect_ok(tokens_check(store, text, &found));
    assert_int_equal(found.node, 0x3f9a0c72d1e4);
    before = store_settings_generation(store);
    expect_ok(fixture_end(tokens_bind_node(fixture_begin(store), node.id, 0x3f9a0c72d1e4)));
    assert_int_equal(store_settings_generation(store), before);
    expect_error(fixture_end(tokens_bind_node(fixture_begin(store), node.id, 7)), ERROR_REFUSED,
        "another node");
    expect_error(fixture_end(tokens_bind_node(fixture_begin(store), admin.id, 7)), ERROR_INVALID,
        "role admin");
    expect_error(
        fixture_end(tokens_bind_node(fixture_begin(store), 99, 7)), ERROR_NOT_FOUND, "no token 99");
    expect_error(
        fixture_end(tokens_bind_node(fixture_begin(store), node.id, 0)), ERROR_INVALID, "number");
    /* nobody else takes the node's name, as long as its token is one */
    create(store, TOKEN_TENANT_NONE, TOKEN_ROLE_NODE, &found, other);
    expect_error(fixture_end(tokens_bind_node(fixture_begin(store), found.id, 0x3f9a0c72d1e4)),
        ERROR_REFUSED, "has the token 1");
    OWN(TokenList, list) = NULL;
    expect_ok(tokens_list(store, 0, SIZE_MAX, &list));
    assert_int_equal(list->items[0].node, 0x3f9a0c72d1e4);
    assert_int_equal(list->items[1].node, 0);
    expect_ok(fixture_end(tokens_revoke(fixture_begin(store), node.id)));
    expect_ok(fixture_end(tokens_bind_node(fixture_begin(store), found.id, 0x3f9a0c72d1e4)));
}

TEST_GROUP(tokens, cmocka_unit_test(test_tokens_let_their_holder_in),
    cmocka_unit_test(test_tokens_refuse_everything_else),
    cmocka_unit_test(test_tokens_that_are_revoked_are_gone),
    cmocka_unit_test(test_tokens_are_made_for_somebody),
    cmocka_unit_test(test_tokens_are_not_in_the_files),
    cmocka_unit_test(test_tokens_of_a_node_belong_to_the_first_that_uses_them))
