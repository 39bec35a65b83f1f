#include "scheduler/control/drive/control_loop.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/spin.h"
#include "base/thread.h"
#include "scheduler/control/drive/control_core.h"
#include "scheduler/control/requests/control_drain.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"

enum { TURN_NS = 100000, LOOK_EVERY_NS = 10000000 };

struct ControlLoop {
    MessageQueue queue;
    uint64_t timer_set_ns; /* when the kernel's timer wakes the thread; 0: never */
    /* How long the thread waits for a message without sleeping, where a message is near. */
    uint64_t spin_ns;
    Control *control;
    pthread_t thread;
    bool runs;
};

/* ---- on the control thread ---- */

static void set_timer(ControlLoop *loop, int timer) {
    const uint64_t next_ns = control_core_due_ns(loop->control);
    if (next_ns == loop->timer_set_ns) return;
    loop->timer_set_ns = next_ns;
    const struct itimerspec when = {.it_value = clock_timespec(next_ns)}; /* 0: none */
    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}

static Error *watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        FAIL(IO, "cannot wait for events: %s", strerror(errno));
    return NULL;
}

static Error *run(ControlLoop *loop, int epoll, int timer) {
    Control *control = loop->control;
    if (epoll < 0 || timer < 0) FAIL(IO, "cannot wait for events: %s", strerror(errno));
    TRY(watch(epoll, loop->queue.descriptor));
    TRY(watch(epoll, timer));
    while (!control_core_is_over(control)) {
        struct epoll_event ready[4];
        set_timer(loop, timer);
        bool come =
            control_core_take_hurry(control) && spin_until(&loop->queue.filled, loop->spin_ns);
        int count = come ? 0 : epoll_wait(epoll, ready, 4, -1);
        if (count < 0 && errno != EINTR) FAIL(IO, "cannot wait for events: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            uint64_t expired;
            if (ready[i].data.fd != timer) continue;
            (void)!read(timer, &expired, sizeof expired);
            loop->timer_set_ns = 0;
        }
        message_queue_handle(&loop->queue, control);
        control_core_turn(control);
    }
    return NULL;
}

/* Handles messages of a control thread that has given up, until the daemon ends. The descriptor
 * that would wake this thread may have failed, so the thread looks again and again. */
static void serve_failed(ControlLoop *loop) {
    static const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    Control *control = loop->control;
    while (control->life.state == CONTROL_LIFE_FAILED) {
        message_queue_handle(&loop->queue, control);
        control_answer_failed(control);
        (void)nanosleep(&pause, NULL);
    }
}

/* The control thread's turns are short, and every other thread waits for them: a worker in the
 * middle of a kernel gives way at once instead of at the end of its milliseconds. Older kernels
 * ignore the wish. */
static void ask_for_short_turns(void) {
    const struct { /* the kernel's sched_attr in its first version, which not every libc has */
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes = {.size = sizeof attributes, .policy = SCHED_OTHER, .runtime_ns = TURN_NS};
    (void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void *thread_main(void *argument) {
    ControlLoop *loop = argument;
    ask_for_short_turns();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    Error *error = run(loop, epoll, timer);
    if (error) control_fail(loop->control, error);
    serve_failed(loop);
    if (epoll >= 0) (void)close(epoll);
    if (timer >= 0) (void)close(timer);
    return NULL;
}

/* ---- on the thread that makes and ends it ---- */

Error *control_loop_create(ControlLoop **out_loop) {
    void *memory;
    TRY(memory_alloc(1, sizeof(ControlLoop), &memory));
    ControlLoop *loop = memory;
    Error *error = message_queue_init(&loop->queue);
    if (error) {
        memory_free(loop);
        return error;
    }
    loop->spin_ns = spin_limit_ns();
    *out_loop = loop;
    return NULL;
}

static void post(void *self, Message *message) {
    message_queue_post(&((ControlLoop *)self)->queue, message);
}

ControlMailbox control_loop_get_mailbox(ControlLoop *loop) { return (ControlMailbox){post, loop}; }

Error *control_loop_start(ControlLoop *loop, Control *control) {
    loop->control = control;
    if (!thread_start(&loop->thread, "control", thread_main, loop))
        FAIL(OUT_OF_MEMORY, "the system gives no more threads");
    loop->runs = true;
    return NULL;
}

static void handle_end(void *context, Message *message) {
    (void)message;
    control_step_life(context, CONTROL_LIFE_EVENT_END);
}

void control_loop_stop(ControlLoop *loop) {
    Message end = {.handle = handle_end};
    if (!loop || !loop->runs) return;
    post(loop, &end);
    (void)pthread_join(loop->thread, NULL);
    loop->runs = false;
}

void control_loop_handle_rest(ControlLoop *loop, Control *control) {
    if (loop) message_queue_handle(&loop->queue, control);
}

void control_loop_release(ControlLoop *loop) {
    if (!loop) return;
    message_queue_deinit(&loop->queue);
    memory_free(loop);
}
