#include "kernels/process/process_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "kernels/device/float_environment.h"
#include "kernels/process/process_service.h"
#include "kernels/process/process_wire.h"

/* A channel and its thread in the worker. */
typedef struct Served {
    ProcessService *service;
    pthread_t thread;
    Error *error; /* that ended the channel */
} Served;

typedef struct ProcessServer {
    ProcessShared *shared;
    ProcessHello hello;
    ProcessWork work;
    Served served[PROCESS_CHANNELS_MAX]; /* by channel; service NULL: unused */
} ProcessServer;

/* ---- the beginning ---- */

static bool is_socket(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

static bool is_shared_memory(int descriptor, int wanted) {
    int seals = fcntl(descriptor, F_GET_SEALS);
    return seals >= 0 && (seals & wanted) == wanted;
}

Error *process_server_check_start(int seals, const char *refusal) {
    if (!is_socket(PROCESS_SOCKET) || !is_shared_memory(PROCESS_MEMORY, seals))
        FAIL(USAGE, "%s", refusal);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)fcntl(PROCESS_SOCKET, F_SETFD, FD_CLOEXEC);
    (void)fcntl(PROCESS_MEMORY, F_SETFD, FD_CLOEXEC);
    return NULL;
}

/* The sizes are compared here, the version by who is answered. */
static Error *read_hello(ProcessHello *out) {
    ssize_t size = recv(PROCESS_SOCKET, out, sizeof *out, 0);
    if (size != sizeof *out || out->magic != PROCESS_MAGIC)
        FAIL(USAGE, "worker: what started it is not layover");
    if (out->version != PROCESS_WIRE_VERSION)
        FAIL(UNSUPPORTED, "the worker process speaks version %d, who started it speaks %u",
            PROCESS_WIRE_VERSION, out->version);
    if (out->channel_count != PROCESS_CHANNELS_MAX || out->bytes != sizeof(ProcessShared))
        FAIL(UNSUPPORTED, "the worker process and who started it share memory of other sizes");
    return NULL;
}

static Error *map_memory(ProcessShared **out) {
    struct stat status;
    if (fstat(PROCESS_MEMORY, &status) != 0 || status.st_size != (off_t)sizeof(ProcessShared))
        FAIL(UNSUPPORTED, "the memory that is shared has another size than was told");
    void *memory = mmap(NULL, sizeof(ProcessShared), PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_NORESERVE, PROCESS_MEMORY, 0);
    if (memory == MAP_FAILED) FAIL(OUT_OF_MEMORY, "no room for the memory that is shared");
    ProcessShared *shared = memory;
    if (shared->magic != PROCESS_MAGIC) FAIL(CORRUPT, "the memory that is shared is no such");
    *out = shared;
    return NULL;
}

static Error *open_work(ProcessServer *server, const char *spec, ProcessOpen *open_device) {
    TRY(read_hello(&server->hello));
    TRY(map_memory(&server->shared));
    TRY(open_device(spec, &server->work.device));
    if (server->work.device->class_->host_memory)
        FAIL(UNSUPPORTED, "%s: its memory is the host's", server->work.device->name);
    return process_handles_create(server->work.device, &server->work.handles);
}

/* Consumes the error of opening. */
static Error *send_welcome(const ProcessServer *server, Error *owned_error) {
    ByteWriter OWN_BYTES(bytes) = {0};
    TextBuilder OWN_TEXT(class_text) = {0};
    byte_write_u32(&bytes, PROCESS_WIRE_VERSION);
    byte_write_u8(&bytes, !owned_error);
    if (owned_error)
        process_wire_write_error(&bytes, owned_error);
    else {
        Device *device = server->work.device;
        device->class_->determinism_class(device, &class_text);
        byte_write_text(&bytes, text_builder_get(&class_text));
        byte_write_u8(&bytes, (device->class_->pack_rule ? PROCESS_HAS_PACKING : 0) |
                                  (device->class_->stream_create ? PROCESS_HAS_QUEUES : 0) |
                                  (device->class_->stops_kernels ? PROCESS_HAS_STOPS : 0));
    }
    error_free(owned_error);
    TRY(byte_writer_check(&bytes));
    if (bytes.size > PROCESS_WELCOME_MAX ||
        send(PROCESS_SOCKET, bytes.data, bytes.size, MSG_NOSIGNAL) != (ssize_t)bytes.size)
        FAIL(IO, "worker: who started it does not listen");
    return NULL;
}

/* ---- channels ---- */

/* A parent that writes nonsense is no better than none. */
static void *thread_main(void *argument) {
    Served *served = argument;
    FloatEnvironment environment;
    float_environment_enter(&environment);
    served->error = process_service_run(served->service);
    if (served->error) (void)shutdown(PROCESS_SOCKET, SHUT_RD); /* the main thread ends */
    float_environment_leave(&environment);
    return NULL;
}

static Error *begin(ProcessServer *server, uint32_t index) {
    Served *served = &server->served[index];
    TRY(process_service_create(
        &server->work, &server->shared->channels[index], server->hello.spin_ns, &served->service));
    if (thread_start(&served->thread, "channel", thread_main, served)) return NULL;
    process_service_refuse(served->service, error_make(ERROR_OUT_OF_MEMORY, __FILE__, __LINE__,
                                                "the worker process gets no more threads"));
    process_service_release(TAKE(served->service));
    return NULL;
}

/* Serves until the parent ends. */
static Error *serve(ProcessServer *server) {
    for (;;) {
        uint32_t index;
        ssize_t size = recv(PROCESS_SOCKET, &index, sizeof index, 0);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return NULL;
        if (size != sizeof index || index >= PROCESS_CHANNELS_MAX)
            FAIL(CORRUPT, "worker: there is no such channel to begin");
        if (server->served[index].service)
            process_service_look(server->served[index].service);
        else
            TRY(begin(server, index));
    }
}

/* ---- the end ---- */

/* Answers the first error that a channel ended with. */
static Error *stop(ProcessServer *server) {
    Error *error = NULL;
    ProcessWork *work = &server->work;
    atomic_store(&work->ending, true);
    if (work->handles) process_handles_end(work->handles);
    (void)pthread_mutex_lock(&work->mutex);
    (void)pthread_cond_broadcast(&work->freed);
    (void)pthread_mutex_unlock(&work->mutex);
    for (uint32_t i = 0; i < PROCESS_CHANNELS_MAX; i++) {
        if (!server->served[i].service) continue;
        ring_wake(&server->shared->channels[i].commands);
        ring_wake(&server->shared->channels[i].answers);
        (void)pthread_join(server->served[i].thread, NULL);
    }
    for (uint32_t i = 0; i < PROCESS_CHANNELS_MAX; i++) {
        process_service_release(server->served[i].service);
        if (error)
            error_free(server->served[i].error);
        else
            error = server->served[i].error;
    }
    process_handles_release(work->handles);
    device_close(work->device);
    if (server->shared) (void)munmap(server->shared, sizeof(ProcessShared));
    return error_wrap(error, "worker");
}

Error *process_server_run(const char *spec, ProcessOpen *open_device) {
    void *memory;
    TRY(process_server_check_start(F_SEAL_SHRINK | F_SEAL_GROW,
        "worker: it is started by layover itself, for a device with worker=process"));
    TRY(memory_alloc(1, sizeof(ProcessServer), &memory));
    ProcessServer *server = memory;
    (void)pthread_mutex_init(&server->work.mutex, NULL);
    (void)pthread_cond_init(&server->work.freed, NULL);
    Error *refusal = open_work(server, spec, open_device);
    bool opened = !refusal;
    Error *error = send_welcome(server, refusal);
    if (!error && opened) error = serve(server);
    Error *broken = stop(server);
    if (error)
        error_free(broken);
    else
        error = broken;
    (void)pthread_cond_destroy(&server->work.freed);
    (void)pthread_mutex_destroy(&server->work.mutex);
    memory_free(server);
    return error;
}
