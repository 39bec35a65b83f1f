#include "scheduler/http/server/store_accounts.h"

#include "tests/scheduler/http_fixtures.h"

static void test_store_accounts_reads_tokens_and_tenants(void **state) {
    (void)state;
    static const CallerRole roles[TEST_ROLES] = {[TEST_USER] = CALLER_USER,
        [TEST_OTHER] = CALLER_USER,
        [TEST_ADMIN] = CALLER_ADMIN,
        [TEST_NODE] = CALLER_NODE};
    TestServer OWN_SERVER(server);
    Caller caller, again;
    TenantId tenant;
    uint64_t bytes;
    test_service_open(&server);
    Accounts accounts = store_accounts(server.settings);
    for (TestRole role = TEST_USER; role <= TEST_NODE; role++) {
        assert_ok(accounts.class_->check_token(accounts.self, server.tokens[role], &caller));
        assert_int_equal(caller.role, roles[role]);
        assert_ok(accounts.class_->find_token(accounts.self, caller.token, &again));
        assert_int_equal(again.role, roles[role]);
        assert_int_equal(again.tenant, caller.tenant);
    }
    assert_int_equal(caller.tenant, 0); /* a node's token is nobody's */
    assert_fails(UNAUTHENTICATED, accounts.class_->check_token(accounts.self, "", &caller));
    assert_fails(UNAUTHENTICATED, accounts.class_->check_token(accounts.self, "x", &caller));
    assert_fails(UNAUTHENTICATED, accounts.class_->find_token(accounts.self, 99, &caller));
    assert_ok(accounts.class_->find_tenant(accounts.self, "alice", &tenant));
    assert_int_equal(tenant, server.alice);
    assert_fails(NOT_FOUND, accounts.class_->find_tenant(accounts.self, "nobody", &tenant));
    assert_ok(accounts.class_->store_bytes_left(accounts.self, tenant, &bytes));
    assert_true(bytes == UINT64_MAX);
    assert_ok(accounts.class_->host_bytes(accounts.self, tenant, &bytes));
    assert_true(bytes == UINT64_MAX);
}

int test_store_accounts(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_accounts_reads_tokens_and_tenants)};
    return cmocka_run_group_tests_name("store_accounts", tests, NULL, NULL);
}
