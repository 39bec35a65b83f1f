#include "tests/scheduler/stream_fixtures.h"

#include <semaphore.h>

static void wake(void *self) { (void)sem_post(self); }

Error *stream_pull(HttpStream *stream, size_t *out_pulls, ByteWriter *out) {
    HttpStreamState state = HTTP_STREAM_MORE;
    Error *error = NULL;
    size_t pulls = 0;
    sem_t news;
    (void)sem_init(&news, 0, 0);
    if (stream->start) stream->start(stream->self, (HttpWaker){wake, &news});
    while (!error && state != HTTP_STREAM_END) {
        ByteWriter OWN_BYTES(piece) = {0}; /* as the server: a stream may fill it up to a size */
        error = stream->pull(stream->self, &piece, &state);
        pulls += piece.size > 0;
        byte_write_bytes(out, piece.data, piece.size);
        if (!error && state == HTTP_STREAM_WAIT) (void)sem_wait(&news);
    }
    stream->close(stream->self);
    *stream = (HttpStream){.pull = NULL};
    (void)sem_destroy(&news);
    if (out_pulls) *out_pulls = pulls;
    TRY(error);
    return byte_writer_check(out);
}
