#pragma once
/* Threads that serve a program's own ones. */
#include <pthread.h>
#include <stdbool.h>

/* Starts one that no signal is delivered to, its own faults aside: those are for the threads that
 * were there. name: of which 15 letters are shown by ps and gdb. False: the system gives none. From
 * any thread. */
bool thread_start(pthread_t *out, const char *name, void *(*main)(void *), void *argument);

/* A condition whose pthread_cond_timedwait takes times of clock_now_ns. Destroyed as any other. */
void thread_condition_init(pthread_cond_t *out);
