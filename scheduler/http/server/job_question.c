#include "scheduler/http/server/job_question.h"

#include "base/allocator.h"

typedef struct Asked {
    JobQuestion question;
    JobsApiWait wait; /* zeroed once its end was asked for */
} Asked;

static void start(void *self, HttpWaker waker) {
    Asked *asked = self;
    asked->wait.begin(asked->wait.self, waker);
}

static Error *finish(void *self, HttpResponse *response) {
    Asked *asked = self;
    const JobsApiWait wait = asked->wait;
    bool suspended = false;
    asked->wait = (JobsApiWait){0};
    Error *error = wait.end(wait.self, &suspended);
    return asked->question.answer(&asked->question, error, suspended, response);
}

static void close_asked(void *self) {
    Asked *asked = self;
    if (asked->wait.drop) asked->wait.drop(asked->wait.self);
    memory_free(asked);
}

Error *job_question_ask(const JobQuestion *question, HttpResponse *response) {
    const JobsApi *jobs = &question->service->jobs;
    const HttpRequest *request = question->request;
    void *memory;
    TRY(memory_alloc(1, sizeof(Asked), &memory));
    Asked *asked = memory;
    asked->question = *question;
    Error *error = jobs->class_->ask(
        jobs->self, &request->caller, http_request_name(request, 0), question->what, &asked->wait);
    if (error) {
        memory_free(asked);
        return error;
    }
    http_response_wait(response,
        (HttpWait){.start = start, .finish = finish, .close = close_asked, .self = asked});
    return NULL;
}
