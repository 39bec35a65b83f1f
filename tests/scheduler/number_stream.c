#include "tests/scheduler/number_stream.h"

#include <stdio.h>

#include "base/allocator.h"

typedef struct NumberStream {
    const char *words;
    int64_t number;
} NumberStream;

static Error *pull(void *self, ByteWriter *out, HttpStreamState *out_state) {
    const NumberStream *stream = self;
    char text[64];
    int size = snprintf(text, sizeof text, "%s %lld", stream->words, (long long)stream->number);
    byte_write_bytes(out, text, (size_t)size);
    *out_state = HTTP_STREAM_END;
    return byte_writer_check(out);
}

static void close_stream(void *self) { memory_free(self); }

Error *number_stream_open(const char *words, int64_t number, HttpStream *out_stream) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NumberStream), &memory));
    *(NumberStream *)memory = (NumberStream){words, number};
    *out_stream = (HttpStream){.pull = pull, .close = close_stream, .self = memory};
    return NULL;
}
