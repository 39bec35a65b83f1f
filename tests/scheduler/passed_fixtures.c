#include "tests/scheduler/passed_fixtures.h"

#include <semaphore.h>

static void wake(void *self) { (void)sem_post(self); }

Error *passed_pull(HttpStream *stream, size_t *out_pulls, ByteWriter *out) {
    HttpStreamState state = HTTP_STREAM_MORE;
    Error *error = NULL;
    size_t pulls = 0;
    sem_t news;
    (void)sem_init(&news, 0, 0);
    stream->start(stream->self, (HttpWaker){wake, &news});
    while (!error && state != HTTP_STREAM_END) {
        const size_t before = out->size;
        error = stream->pull(stream->self, out, &state);
        pulls += out->size > before;
        if (!error && state == HTTP_STREAM_WAIT) (void)sem_wait(&news);
    }
    stream->close(stream->self);
    *stream = (HttpStream){.pull = NULL};
    (void)sem_destroy(&news);
    if (out_pulls) *out_pulls = pulls;
    return error;
}
