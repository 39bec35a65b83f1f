#include "scheduler/control/drive/control_loop.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/thread.h"
#include "scheduler/control/adapters/control_executor.h"
#include "scheduler/control/drive/control_core.h"
#include "scheduler/control/requests/control_drain.h"
#include "scheduler/control/state/control_shared.h"
#include "scheduler/control/state/control_state.h"
#include "scheduler/control/state/control_steps.h"

enum { TURN_NS = 100000, LOOK_EVERY_NS = 10000000 };

struct ControlLoop {
    MessageQueue queue;
    int timer;
    uint64_t timer_set_ns; /* when the timer wakes the thread, or has; guarded by the turn */
    Control *control;
    pthread_t thread;
    bool waits; /* the control thread has not the turn; its own */
    bool runs;
};

/* ---- with the turn ---- */

/* A timer that is still to come, but too early, is left as it is: it wakes the thread once in vain,
 * which costs less than setting it anew for every slice. */
static void set_timer(ControlLoop *loop) {
    const uint64_t next_ns = control_core_due_ns(loop->control);
    if (!next_ns || loop->timer < 0) return;
    if (loop->timer_set_ns <= next_ns && loop->timer_set_ns > control_now_ns(loop->control)) return;
    loop->timer_set_ns = next_ns;
    const struct itimerspec when = {.it_value = clock_timespec(next_ns)};
    (void)timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Returns true if the logic is over: the caller still has the turn then. */
static bool take_turns(ControlLoop *loop) {
    Control *control = loop->control;
    do {
        if (control_core_is_over(control)) return true;
        message_queue_handle(&loop->queue, control);
        control_core_turn(control);
        if (control_core_is_over(control)) return true;
        set_timer(loop);
    } while (!message_queue_end_turn(&loop->queue));
    return false;
}

void control_loop_help(ControlLoop *loop, WorkerSlice **out_lent_slice) {
    if (!message_queue_begin_turn(&loop->queue, false)) return;
    Control *control = loop->control;
    if (out_lent_slice && !control_core_is_over(control)) {
        control_executor_lend(control->executor, out_lent_slice);
        message_queue_handle(&loop->queue, control);
        control_core_turn(control);
        control_executor_lend(control->executor, NULL);
    }
    /* the control thread does the rest of a logic that is over */
    if (take_turns(loop)) message_queue_pass_turn(&loop->queue);
}

/* ---- on the control thread ---- */

static Error *watch(int epoll, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) != 0)
        FAIL(IO, "cannot wait for events: %s", strerror(errno));
    return NULL;
}

/* Waits until something happens, and takes the turn. A thread that has the turn meanwhile looks at
 * the time once more. */
static Error *wait_for_turn(ControlLoop *loop, int epoll) {
    loop->waits = true;
    do {
        struct epoll_event ready[4];
        const int count = epoll_wait(epoll, ready, 4, -1);
        if (count < 0 && errno != EINTR) FAIL(IO, "cannot wait for events: %s", strerror(errno));
        for (int i = 0; i < count; i++) {
            uint64_t expired;
            if (ready[i].data.fd == loop->timer)
                (void)!read(loop->timer, &expired, sizeof expired);
            else
                message_queue_clear(&loop->queue);
        }
    } while (!message_queue_begin_turn(&loop->queue, true));
    loop->waits = false;
    return NULL;
}

static Error *run(ControlLoop *loop, int epoll) {
    if (epoll < 0 || loop->timer < 0) FAIL(IO, "cannot wait for events: %s", strerror(errno));
    TRY(watch(epoll, loop->queue.descriptor));
    TRY(watch(epoll, loop->timer));
    while (!take_turns(loop)) TRY(wait_for_turn(loop, epoll));
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

/* Takes the turn for good. It does nothing for a thread that has it. */
static void keep_turn(ControlLoop *loop) {
    static const struct timespec pause = {.tv_nsec = TURN_NS};
    if (!loop->waits) return;
    while (!message_queue_begin_turn(&loop->queue, true)) (void)nanosleep(&pause, NULL);
}

static void *thread_main(void *argument) {
    ControlLoop *loop = argument;
    ask_for_short_turns();
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    Error *error = run(loop, epoll);
    keep_turn(loop); /* no other thread takes a turn any more */
    if (error) control_fail(loop->control, error);
    serve_failed(loop);
    if (epoll >= 0) (void)close(epoll);
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
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    /* the creator's, and then the control thread's */
    (void)message_queue_begin_turn(&loop->queue, true);
    *out_loop = loop;
    return NULL;
}

static void post(void *self, Message *message) {
    message_queue_post(&((ControlLoop *)self)->queue, message);
}

static void leave(void *self, Message *message) {
    message_queue_leave(&((ControlLoop *)self)->queue, message);
}

static void help(void *self) { control_loop_help(self, NULL); }

ControlMailbox control_loop_get_mailbox(ControlLoop *loop) {
    return (ControlMailbox){.post = post, .leave = leave, .help = help, .self = loop};
}

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
    if (loop->timer >= 0) (void)close(loop->timer);
    memory_free(loop);
}
