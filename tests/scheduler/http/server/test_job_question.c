#include "scheduler/http/server/job_question.h"

#include <string.h>

#include "tests/support/test_support.h"

/* Whoever is asked, and what became of it. */
typedef struct Oracle {
    JobsApiQuestion what;
    bool refuses, suspends;
    Error *outcome;
    int begun, ended, dropped, woken, answered;
} Oracle;

static void begin(void *self, HttpWaker waker) {
    ((Oracle *)self)->begun++;
    waker.wake(waker.self);
}

static Error *end(void *self, bool *out_suspended) {
    Oracle *oracle = self;
    oracle->ended++;
    *out_suspended = oracle->suspends;
    return oracle->outcome;
}

static void drop(void *self) { ((Oracle *)self)->dropped++; }

static void wake(void *self) { ((Oracle *)self)->woken++; }

static Error *ask(void *self, const Caller *caller, const char *job, JobsApiQuestion what,
    JobsApiWait *out_wait) {
    Oracle *oracle = self;
    assert_int_equal(caller->tenant, 3);
    assert_string_equal(job, "a-1");
    if (oracle->refuses) FAIL(NOT_FOUND, "no job %s", job);
    oracle->what = what;
    *out_wait = (JobsApiWait){.begin = begin, .end = end, .drop = drop, .self = oracle};
    return NULL;
}

static Error *answer(
    const JobQuestion *question, Error *owned_error, bool suspended, HttpResponse *response) {
    Oracle *oracle = question->service->jobs.self;
    (void)response;
    oracle->answered++;
    assert_true(suspended == oracle->suspends && question->options.checkpoint == 7);
    return owned_error;
}

static Error *ask_oracle(HttpService *service, HttpRequest *request, HttpResponse *response) {
    const JobQuestion question = {.service = service,
        .request = request,
        .what = JOBS_API_ASK_RELEASE,
        .options = {.checkpoint = 7},
        .answer = answer};
    request->caller.tenant = 3;
    memcpy(request->match.names[0], "a-1", sizeof "a-1");
    return job_question_ask(&question, response);
}

static const JobsApiClass oracle_class = {.ask = ask};

static void test_a_question_is_asked_waited_for_and_answered(void **state) {
    (void)state;
    static HttpRequest request;
    HttpResponse OWN_RESPONSE(response) = {0};
    Oracle oracle = {.suspends = true};
    HttpService service = {.jobs = {&oracle_class, &oracle}};
    http_response_init(&response);
    assert_ok(ask_oracle(&service, &request, &response));
    assert_int_equal(oracle.what, JOBS_API_ASK_RELEASE);
    const HttpWait wait = response.wait;
    response.wait = (HttpWait){0};
    wait.start(wait.self, (HttpWaker){.wake = wake, .self = &oracle});
    assert_true(oracle.begun == 1 && oracle.woken == 1 && oracle.answered == 0);
    oracle.outcome = error_make(ERROR_CONFLICT, __FILE__, __LINE__, "it has ended");
    assert_fails_saying(CONFLICT, "it has ended", wait.finish(wait.self, &response));
    wait.close(wait.self);
    assert_true(oracle.ended == 1 && oracle.answered == 1 && oracle.dropped == 0);
}

/* One whose client went before it was begun. */
static void test_a_question_that_nobody_waits_for_is_dropped(void **state) {
    (void)state;
    static HttpRequest request;
    HttpResponse OWN_RESPONSE(response) = {0};
    Oracle oracle = {.refuses = true};
    HttpService service = {.jobs = {&oracle_class, &oracle}};
    http_response_init(&response);
    assert_fails_saying(NOT_FOUND, "no job a-1", ask_oracle(&service, &request, &response));
    assert_null(response.wait.start);
    oracle.refuses = false;
    assert_ok(ask_oracle(&service, &request, &response));
    http_response_deinit(&response);
    http_response_init(&response);
    assert_true(oracle.dropped == 1 && oracle.ended == 0 && oracle.answered == 0);
}

int test_job_question(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_question_is_asked_waited_for_and_answered),
        cmocka_unit_test(test_a_question_that_nobody_waits_for_is_dropped),
    };
    return cmocka_run_group_tests_name("job_question", tests, NULL, NULL);
}
