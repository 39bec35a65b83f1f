#pragma once
/* Starts the threads of kernels/, serialize/, store/ and scheduler/, so that signals stay with the
 * program's own threads. Threads: any. */
#include <pthread.h>
#include <stdbool.h>

/* Starts a thread that receives no signals but its own faults; signals go to the threads that
 * existed before. name: ps and gdb show its first 15 letters. Returns false when the system gives
 * no thread. */
bool thread_start(pthread_t *out, const char *name, void *(*main)(void *), void *argument);

/* Initializes a condition whose pthread_cond_timedwait takes times of clock_now_ns. Destroyed like
 * any other. */
void thread_condition_init(pthread_cond_t *out);
