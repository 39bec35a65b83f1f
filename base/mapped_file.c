#include "base/mapped_file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/refcount.h"

/* A mapping as the signal handler sees it. A slot does not change while its mapping is read, since
 * the reader holds the mapping. Slots are never freed, so the handler may look at all of them. */
typedef struct Slot {
    _Atomic uintptr_t start;
    _Atomic uintptr_t size; /* 0: free; set last and cleared first */
    atomic_bool damaged;
} Slot;

static Slot slots[MAPPED_FILES_MAX];
static pthread_mutex_t slots_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous; /* of SIGBUS */
static uintptr_t page_size;

struct MappedFile {
    Refcount refcount;
    Slot *slot;
    uint8_t *data;
    size_t size;
};

/* Replaces the mapping by zeroes from the missing page to the end, so that the reader can continue.
 * mmap is a plain system call, which is safe in a signal handler. */
static bool mend(uintptr_t address) {
    bool found = false;
    for (Slot *slot = slots; slot < slots + MAPPED_FILES_MAX; slot++) {
        uintptr_t size = atomic_load_explicit(&slot->size, memory_order_acquire);
        uintptr_t start = atomic_load_explicit(&slot->start, memory_order_relaxed);
        if (size == 0 || address < start || address - start >= size) continue;
        uintptr_t page = address & ~(page_size - 1);
        atomic_store_explicit(&slot->damaged, true, memory_order_release);
        found |= mmap((void *)page, start + size - page, PROT_READ,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    }
    return found;
}

static void handle_bus_error(int number, siginfo_t *info, void *context) {
    int kept_errno = errno;
    (void)context;
    /* a foreign fault: the instruction faults again and the previous handler gets the signal */
    if (!mend((uintptr_t)info->si_addr)) (void)sigaction(number, &previous, NULL);
    errno = kept_errno;
}

/* Called before each mapping, since other code in the process may have replaced the handler. */
static void install(void) {
    struct sigaction action = {.sa_sigaction = handle_bus_error, .sa_flags = SA_SIGINFO}, present;
    (void)pthread_mutex_lock(&slots_mutex);
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)sigemptyset(&action.sa_mask);
    bool ours = sigaction(SIGBUS, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) &&
                present.sa_sigaction == handle_bus_error;
    if (!ours) {
        previous = present;
        (void)sigaction(SIGBUS, &action, NULL);
    }
    (void)pthread_mutex_unlock(&slots_mutex);
}

static Slot *take_slot(const void *data, size_t size) {
    Slot *found = NULL;
    (void)pthread_mutex_lock(&slots_mutex);
    for (Slot *slot = slots; slot < slots + MAPPED_FILES_MAX && !found; slot++)
        if (atomic_load_explicit(&slot->size, memory_order_relaxed) == 0) found = slot;
    if (found) {
        atomic_store_explicit(&found->damaged, false, memory_order_relaxed);
        atomic_store_explicit(&found->start, (uintptr_t)data, memory_order_relaxed);
        atomic_store_explicit(&found->size, size, memory_order_release);
    }
    (void)pthread_mutex_unlock(&slots_mutex);
    return found;
}

static Error *check_size(int descriptor, uint64_t size) {
    struct stat status;
    if (fstat(descriptor, &status) != 0) FAIL(IO, "look at a file: %s", strerror(errno));
    if (!S_ISREG(status.st_mode)) FAIL(INVALID, "only regular files are mapped");
    if (size == 0 || size > SIZE_MAX / 2 || (uint64_t)status.st_size < size)
        FAIL(INVALID, "%llu bytes of a file of %lld", (unsigned long long)size,
            (long long)status.st_size);
    return NULL;
}

Error *mapped_file_open(int descriptor, uint64_t size, MappedFile **out) {
    void *memory;
    TRY(check_size(descriptor, size));
    install();
    TRY(memory_alloc(1, sizeof(MappedFile), &memory));
    OWN(MappedFile, file) = memory;
    refcount_init(&file->refcount);
    void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) FAIL(IO, "map a file: %s", strerror(errno));
    file->data = data;
    file->size = (size_t)size;
    file->slot = take_slot(data, file->size);
    if (!file->slot) FAIL(EXHAUSTED, "%d files are mapped", MAPPED_FILES_MAX);
    *out = TAKE(file);
    return NULL;
}

MappedFile *mapped_file_retain(MappedFile *file) {
    refcount_retain(&file->refcount);
    return file;
}

void mapped_file_release(MappedFile *file) {
    if (!file || !refcount_release(&file->refcount)) return;
    if (file->slot) atomic_store_explicit(&file->slot->size, 0, memory_order_release);
    if (file->data) (void)munmap(file->data, file->size);
    memory_free(file);
}

const uint8_t *mapped_file_data(const MappedFile *file) { return file->data; }

uint64_t mapped_file_size(const MappedFile *file) { return file->size; }

bool mapped_file_is_damaged(const MappedFile *file) {
    return atomic_load_explicit(&file->slot->damaged, memory_order_acquire);
}
