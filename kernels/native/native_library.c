#include "kernels/native/native_library.h"

#include <pthread.h>

#include "base/allocator.h"
#include "base/refcount.h"

struct NativeLibrary {
    Refcount refcount;
    NativeImage image;
    char *name, *preload;
    pthread_mutex_t mutex; /* guards the members below */
    NativeWorker *idle[NATIVE_IDLE_MAX];
    uint32_t idle_count;
};

Error *native_library_create(const NativeImage *image, NativeLibrary **out) {
    void *memory;
    TRY(memory_alloc(1, sizeof(NativeLibrary), &memory));
    OWN(NativeLibrary, library) = memory;
    refcount_init(&library->refcount);
    (void)pthread_mutex_init(&library->mutex, NULL);
    library->image = *image;
    TRY(memory_copy_text(image->name, &library->name));
    TRY(memory_copy_text(image->preload, &library->preload));
    library->image.name = library->name;
    library->image.preload = library->preload;
    *out = TAKE(library);
    return NULL;
}

NativeLibrary *native_library_retain(NativeLibrary *library) {
    refcount_retain(&library->refcount);
    return library;
}

void native_library_release(NativeLibrary *library) {
    if (!library || !refcount_release(&library->refcount)) return;
    for (uint32_t i = 0; i < library->idle_count; i++) native_worker_end(library->idle[i]);
    (void)pthread_mutex_destroy(&library->mutex);
    memory_free(library->name);
    memory_free(library->preload);
    memory_free(library);
}

static Error *borrow(NativeLibrary *library, NativeWorker **out) {
    *out = NULL;
    (void)pthread_mutex_lock(&library->mutex);
    if (library->idle_count) *out = library->idle[--library->idle_count];
    (void)pthread_mutex_unlock(&library->mutex);
    return *out ? NULL : native_worker_start(&library->image, out);
}

static void give_back(NativeLibrary *library, NativeWorker *owned_worker) {
    (void)pthread_mutex_lock(&library->mutex);
    bool keep = native_worker_is_alive(owned_worker) && library->idle_count < NATIVE_IDLE_MAX;
    if (keep) library->idle[library->idle_count++] = owned_worker;
    (void)pthread_mutex_unlock(&library->mutex);
    if (!keep) native_worker_end(owned_worker);
}

Error *native_library_call(NativeLibrary *library, const char *function,
    const NativeArgumentList *arguments, NativeReceiver *receiver) {
    NativeWorker *worker;
    TRY(borrow(library, &worker));
    Error *error = native_worker_call(worker, function, arguments, receiver);
    give_back(library, worker);
    return error_wrap(error, "the native function %s", function);
}
