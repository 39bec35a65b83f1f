#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "kernels/device/float_environment.h"
#include "tests/support/fake_cuda/fake_driver.h"

pthread_mutex_t fake_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;

struct CUstream_st {
    struct CUctx_st *context;
    pthread_t thread;
    pthread_cond_t given; /* the thread waits for it while it has no command */
    FakeCommand *first, **last;
    bool running, ending;
    struct CUgraph_st *capture; /* NULL: commands run */
};

struct CUevent_st {
    struct CUctx_st *context;
    int references; /* its owner's, and of each command with it */
    uint64_t recorded, reached;
    double time_ms;
};

FakeCommand *fake_command_create(uint64_t size) {
    FakeCommand *command = calloc(1, sizeof *command + size);
    if (command) command->params_size = size;
    return command;
}

static void release_event(CUevent event) {
    if (event && --event->references == 0) free(event);
}

void fake_command_release(FakeCommand *command) {
    release_event(command->event);
    free(command);
}

struct CUgraph_st **fake_stream_capture(CUstream stream) {
    return &stream->capture;
}

int fake_stream_push(CUstream stream, FakeCommand *owned_command) {
    struct CUctx_st *context = stream->context;
    int result = context->error && !owned_command->always ? context->error : CUDA_SUCCESS;
    if (context != fake_driver_current()) result = CUDA_ERROR_INVALID_HANDLE;
    if (result != CUDA_SUCCESS) {
        fake_command_release(owned_command);
        return result;
    }
    owned_command->context = context;
    if (stream->capture) return fake_graph_add(stream->capture, owned_command);
    *stream->last = owned_command;
    stream->last = &owned_command->next;
    (void)pthread_cond_signal(&stream->given);
    return CUDA_SUCCESS;
}

static double now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Under the mutex, but for the work itself. */
static void run(CUstream stream, FakeCommand *command) {
    struct CUctx_st *context = stream->context;
    int result = CUDA_SUCCESS;
    while (command->waits && command->event->reached < command->number && !context->error)
        (void)pthread_cond_wait(&fake_changed, &fake_mutex);
    (void)pthread_mutex_unlock(&fake_mutex);
    if (context->lag_us) (void)usleep((useconds_t)context->lag_us);
    if (command->run && (!context->error || command->always)) {
        fake_memory_open();
        result = command->run(command);
        fake_memory_close();
    }
    (void)pthread_mutex_lock(&fake_mutex);
    if (result != CUDA_SUCCESS && !context->error) {
        context->error = result;
        (void)pthread_cond_broadcast(&fake_changed);
    }
    if (command->event && !command->waits) {
        command->event->reached = command->number;
        command->event->time_ms = now_ms();
        (void)pthread_cond_broadcast(&fake_changed);
    }
}

static void *thread_main(void *argument) {
    CUstream stream = argument;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    (void)pthread_mutex_lock(&fake_mutex);
    for (;;) {
        FakeCommand *command = stream->first;
        if (!command && stream->ending) break;
        if (!command) {
            (void)pthread_cond_wait(&stream->given, &fake_mutex);
            continue;
        }
        stream->first = command->next;
        if (!stream->first) stream->last = &stream->first;
        stream->running = true;
        run(stream, command);
        stream->running = false;
        fake_command_release(command);
        if (!stream->first) (void)pthread_cond_broadcast(&fake_changed);
    }
    (void)pthread_mutex_unlock(&fake_mutex);
    float_environment_leave(&environment);
    return NULL;
}

FAKE_CUDA_FUNCTION cuStreamCreate(CUstream *out, unsigned int flags) {
    FAKE_CUDA_CALL(context);
    (void)flags;
    CUstream stream = calloc(1, sizeof *stream);
    if (!stream) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    stream->context = context;
    stream->last = &stream->first;
    (void)pthread_cond_init(&stream->given, NULL);
    if (pthread_create(&stream->thread, NULL, thread_main, stream) != 0) {
        (void)pthread_cond_destroy(&stream->given);
        free(stream);
        FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    }
    *out = stream;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuStreamSynchronize(CUstream stream) {
    FAKE_CUDA_CALL(context);
    if (stream->context != context) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_HANDLE);
    if (stream->capture) {
        fake_graph_spoil(stream->capture);
        FAKE_CUDA_RETURN(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    }
    while (stream->first || stream->running) (void)pthread_cond_wait(&fake_changed, &fake_mutex);
    FAKE_CUDA_RETURN(context->error);
}

FAKE_CUDA_FUNCTION cuStreamDestroy_v2(CUstream stream) {
    (void)pthread_mutex_lock(&fake_mutex);
    fake_control.mistakes += stream->capture != NULL;
    stream->ending = true;
    (void)pthread_cond_signal(&stream->given);
    (void)pthread_mutex_unlock(&fake_mutex);
    (void)pthread_join(stream->thread, NULL);
    (void)pthread_cond_destroy(&stream->given);
    free(stream);
    return CUDA_SUCCESS;
}

static int push_event(CUstream stream, CUevent event, uint64_t number, bool waits) {
    FakeCommand *command = fake_command_create(0);
    if (!command) return CUDA_ERROR_OUT_OF_MEMORY;
    command->event = event;
    command->number = number;
    command->waits = waits;
    event->references++;
    return fake_stream_push(stream, command);
}

FAKE_CUDA_FUNCTION cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    FAKE_CUDA_CALL(context);
    (void)flags;
    (void)context;
    FAKE_CUDA_RETURN(push_event(stream, event, event->recorded, true));
}

FAKE_CUDA_FUNCTION cuEventCreate(CUevent *out, unsigned int flags) {
    FAKE_CUDA_CALL(context);
    (void)flags;
    CUevent event = calloc(1, sizeof *event);
    if (!event) FAKE_CUDA_RETURN(CUDA_ERROR_OUT_OF_MEMORY);
    event->context = context;
    event->references = 1;
    *out = event;
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuEventDestroy_v2(CUevent event) {
    (void)pthread_mutex_lock(&fake_mutex);
    release_event(event);
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}

FAKE_CUDA_FUNCTION cuEventRecord(CUevent event, CUstream stream) {
    FAKE_CUDA_CALL(context);
    if (event->context != context) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_HANDLE);
    FAKE_CUDA_RETURN(push_event(stream, event, ++event->recorded, false));
}

FAKE_CUDA_FUNCTION cuEventSynchronize(CUevent event) {
    FAKE_CUDA_CALL(context);
    uint64_t number = event->recorded;
    while (event->reached < number && !context->error)
        (void)pthread_cond_wait(&fake_changed, &fake_mutex);
    FAKE_CUDA_RETURN(context->error);
}

FAKE_CUDA_FUNCTION cuEventElapsedTime(float *out_ms, CUevent from, CUevent to) {
    FAKE_CUDA_CALL(context);
    (void)context;
    if (!from->recorded || !to->recorded) FAKE_CUDA_RETURN(CUDA_ERROR_INVALID_HANDLE);
    if (from->reached < from->recorded || to->reached < to->recorded)
        FAKE_CUDA_RETURN(CUDA_ERROR_NOT_READY);
    *out_ms = (float)(to->time_ms - from->time_ms);
    FAKE_CUDA_RETURN(CUDA_SUCCESS);
}
