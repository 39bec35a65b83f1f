#include "scheduler/http/client/http_libraries.h"

#include <pthread.h>

#include "tests/support/test_support.h"

static void *open_both(void *context) {
    (void)context;
    Error *error = http_libraries_open_curl();
    if (!error) error = http_libraries_open_microhttpd();
    return error;
}

static void test_http_libraries_are_opened_once_by_any_thread(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_both, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *error;
        assert_int_equal(pthread_join(threads[i], &error), 0);
        assert_ok(error);
    }
    void *const first = *(void *const *)(void *)&libcurl.easy_init;
    assert_ok(http_libraries_open_curl());
    assert_ptr_equal(*(void *const *)(void *)&libcurl.easy_init, first);
}

static void test_http_libraries_have_every_function(void **state) {
    (void)state;
    assert_ok(http_libraries_open_curl());
    assert_ok(http_libraries_open_microhttpd());
#define CURL_FUNCTION(name) assert_true(libcurl.name != NULL);
#define MICROHTTPD_FUNCTION(name) assert_true(microhttpd.name != NULL);
#include "scheduler/http/client/http_libraries.def"
#undef CURL_FUNCTION
#undef MICROHTTPD_FUNCTION
    CURL *curl = libcurl.easy_init();
    assert_non_null(curl);
    assert_int_equal(libcurl.easy_setopt(curl, CURLOPT_URL, "http://localhost"), CURLE_OK);
    libcurl.easy_cleanup(curl);
    assert_int_equal(microhttpd.is_feature_supported(MHD_FEATURE_TLS), MHD_YES);
}

int test_http_libraries(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_libraries_are_opened_once_by_any_thread),
        cmocka_unit_test(test_http_libraries_have_every_function),
    };
    return cmocka_run_group_tests_name("http_libraries", tests, NULL, NULL);
}
