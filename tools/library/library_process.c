/* What belongs to the process as a whole: forks, homes that it has open, and
 * locks that a fork must not leave held. */
#include <pthread.h>
#include <stdatomic.h>

#include "tools/library/library_internal.h"

static pthread_mutex_t homes = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t clients = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t watched = PTHREAD_ONCE_INIT;
static _Atomic uint32_t number; /* of forks between the first process and this one */

/* Threads of the parent, which could hold a lock, are not in the child. */
static void enter_child(void) {
    atomic_fetch_add(&number, 1);
    (void)pthread_mutex_init(&homes, NULL);
    (void)pthread_mutex_init(&clients, NULL);
}

static void watch(void) { (void)pthread_atfork(NULL, NULL, enter_child); }

uint32_t library_process_number(void) {
    (void)pthread_once(&watched, watch);
    return atomic_load(&number);
}

Error *library_process_check(const LayoverModel *model) {
    if (model->process != library_process_number())
        FAIL(CONFLICT, "the model was opened before this process was forked; open it again");
    return NULL;
}

void library_process_lock_homes(void) {
    (void)library_process_number();
    (void)pthread_mutex_lock(&homes);
}

void library_process_unlock_homes(void) { (void)pthread_mutex_unlock(&homes); }

void library_process_lock_clients(void) {
    (void)library_process_number();
    (void)pthread_mutex_lock(&clients);
}

void library_process_unlock_clients(void) { (void)pthread_mutex_unlock(&clients); }
