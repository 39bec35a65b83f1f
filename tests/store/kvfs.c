#include "tests/store/kvfs.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SECTOR = 512, PATH_SIZE_MAX = 512 };

typedef enum Operation { WRITE, SYNC, TRUNCATE, DELETE, OPEN, READ } Operation;

/* What a file held where something was written that is not synced. */
typedef struct UnsyncedWrite {
    struct UnsyncedWrite *older;
    char path[PATH_SIZE_MAX];
    int64_t offset;
    int64_t size;
    int64_t old_size; /* how much of it was in the file before */
    unsigned char old[];
} UnsyncedWrite;

typedef struct KvfsFile {
    sqlite3_file base;
    const char *path; /* SQLite's, lives as long as the file; NULL for a temporary one */
    sqlite3_file *real;
} KvfsFile;

static sqlite3_vfs *real_vfs;
static _Atomic KvfsFault armed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint64_t armed_at, operation_count, random_state;
static bool armed_forever;
static UnsyncedWrite *unsynced;
static _Atomic bool skips_ahead;

void kvfs_arm(KvfsFault fault, uint64_t at, bool forever, uint64_t seed) {
    (void)pthread_mutex_lock(&mutex);
    armed = fault;
    armed_at = at;
    armed_forever = forever;
    operation_count = 0;
    random_state = seed * 2 + 1;
    (void)pthread_mutex_unlock(&mutex);
}

uint64_t kvfs_count(void) {
    (void)pthread_mutex_lock(&mutex);
    uint64_t count = operation_count;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

const char *kvfs_fault_name(KvfsFault fault) {
    static const char *const names[KVFS_FAULT_COUNT] = {
        "none", "kill", "power", "full", "short", "io", "sync", "read"};
    return names[fault];
}

static uint64_t next_random(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

/* A lost sector holds what it held, or in a part that is new, zeros or nonsense. */
static void lose_sector(int file, const UnsyncedWrite *lost, int64_t begin, int64_t end) {
    unsigned char bytes[SECTOR];
    bool zero = next_random() & 1;
    for (int64_t i = begin; i < end; i++) {
        unsigned char nonsense = zero ? 0 : (unsigned char)next_random();
        bytes[i - begin] = i < lost->old_size ? lost->old[i] : nonsense;
    }
    ssize_t written = pwrite(file, bytes, (size_t)(end - begin), lost->offset + begin);
    assert(written == end - begin);
    (void)written;
}

static void cut_power(void) {
    bool all = next_random() % 4 == 0;
    for (const UnsyncedWrite *lost = unsynced; lost; lost = lost->older) {
        int file = open(lost->path, O_RDWR);
        if (file < 0) continue; /* deleted since */
        int64_t end;
        for (int64_t begin = 0; begin < lost->size; begin = end) {
            end = begin + SECTOR - (lost->offset + begin) % SECTOR;
            if (end > lost->size) end = lost->size;
            if (all || next_random() & 1) lose_sector(file, lost, begin, end);
        }
        (void)close(file);
    }
}

static bool applies(KvfsFault fault, Operation operation) {
    switch (fault) {
    case KVFS_NONE:
    case KVFS_KILL:
    case KVFS_POWER:
        return operation != READ;
    case KVFS_FULL:
    case KVFS_SHORT:
        return operation == WRITE;
    case KVFS_IO:
        return operation == WRITE || operation == TRUNCATE || operation == DELETE;
    case KVFS_SYNC:
        return operation == SYNC;
    case KVFS_READ:
        return operation == READ;
    case KVFS_FAULT_COUNT:
        break;
    }
    return false;
}

static bool strike_locked(Operation operation) {
    if (!applies(armed, operation)) return false;
    operation_count++;
    if (armed == KVFS_NONE || operation_count < armed_at) return false;
    if (operation_count > armed_at && !armed_forever) return false;
    if (armed == KVFS_POWER) cut_power();
    if (armed == KVFS_POWER || armed == KVFS_KILL) _exit(KVFS_KILLED);
    return true;
}

/* Whether this operation fails; a killed process does not return. */
static bool strike(Operation operation) {
    (void)pthread_mutex_lock(&mutex);
    bool hit = strike_locked(operation);
    (void)pthread_mutex_unlock(&mutex);
    return hit;
}

static sqlite3_file *real_of(sqlite3_file *file) { return ((KvfsFile *)file)->real; }

static void remember_old(KvfsFile *file, int64_t offset, int64_t size) {
    if (armed != KVFS_POWER || !file->path || size <= 0) return;
    UnsyncedWrite *write = calloc(1, sizeof *write + (size_t)size);
    assert(write && strlen(file->path) < sizeof write->path);
    memcpy(write->path, file->path, strlen(file->path) + 1);
    write->offset = offset;
    write->size = size;
    int descriptor = open(file->path, O_RDONLY);
    assert(descriptor >= 0);
    write->old_size = pread(descriptor, write->old, (size_t)size, offset);
    (void)close(descriptor);
    (void)pthread_mutex_lock(&mutex);
    write->older = unsynced;
    unsynced = write;
    (void)pthread_mutex_unlock(&mutex);
}

static void forget_old(const char *path) {
    (void)pthread_mutex_lock(&mutex);
    UnsyncedWrite **at = &unsynced;
    while (*at) {
        UnsyncedWrite *write = *at;
        if (path && strcmp(write->path, path) == 0) {
            *at = write->older;
            free(write);
        } else {
            at = &write->older;
        }
    }
    (void)pthread_mutex_unlock(&mutex);
}

static int kvfs_close(sqlite3_file *file) {
    int code = real_of(file)->pMethods ? real_of(file)->pMethods->xClose(real_of(file)) : SQLITE_OK;
    return code;
}

static int kvfs_read(sqlite3_file *file, void *data, int size, sqlite3_int64 offset) {
    if (strike(READ)) return SQLITE_IOERR_READ;
    return real_of(file)->pMethods->xRead(real_of(file), data, size, offset);
}

static int kvfs_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 offset) {
    if (strike(WRITE)) {
        if (armed == KVFS_SHORT && size > 1)
            (void)real_of(file)->pMethods->xWrite(real_of(file), data, size / 2, offset);
        return armed == KVFS_IO ? SQLITE_IOERR_WRITE : SQLITE_FULL;
    }
    remember_old((KvfsFile *)file, offset, size);
    return real_of(file)->pMethods->xWrite(real_of(file), data, size, offset);
}

static int kvfs_truncate(sqlite3_file *file, sqlite3_int64 size) {
    if (strike(TRUNCATE)) return SQLITE_IOERR_TRUNCATE;
    sqlite3_int64 old_size;
    if (real_of(file)->pMethods->xFileSize(real_of(file), &old_size) == SQLITE_OK)
        remember_old((KvfsFile *)file, size, old_size - size);
    return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static int kvfs_sync(sqlite3_file *file, int flags) {
    (void)flags;
    if (strike(SYNC)) return SQLITE_IOERR_FSYNC;
    forget_old(((KvfsFile *)file)->path);
    return SQLITE_OK;
}

static int kvfs_file_size(sqlite3_file *file, sqlite3_int64 *out) {
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int kvfs_lock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int kvfs_unlock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int kvfs_check_reserved(sqlite3_file *file, int *out) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int kvfs_control(sqlite3_file *file, int operation, void *argument) {
    return real_of(file)->pMethods->xFileControl(real_of(file), operation, argument);
}

static int kvfs_sector_size(sqlite3_file *file) {
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int kvfs_characteristics(sqlite3_file *file) {
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int kvfs_shm_map(sqlite3_file *file, int region, int size, int extend, void volatile **out) {
    return real_of(file)->pMethods->xShmMap(real_of(file), region, size, extend, out);
}

static int kvfs_shm_lock(sqlite3_file *file, int offset, int count, int flags) {
    return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}

static void kvfs_shm_barrier(sqlite3_file *file) {
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static int kvfs_shm_unmap(sqlite3_file *file, int delete_it) {
    return real_of(file)->pMethods->xShmUnmap(real_of(file), delete_it);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* no memory mapping: the store does not use it */
    .xClose = kvfs_close,
    .xRead = kvfs_read,
    .xWrite = kvfs_write,
    .xTruncate = kvfs_truncate,
    .xSync = kvfs_sync,
    .xFileSize = kvfs_file_size,
    .xLock = kvfs_lock,
    .xUnlock = kvfs_unlock,
    .xCheckReservedLock = kvfs_check_reserved,
    .xFileControl = kvfs_control,
    .xSectorSize = kvfs_sector_size,
    .xDeviceCharacteristics = kvfs_characteristics,
    .xShmMap = kvfs_shm_map,
    .xShmLock = kvfs_shm_lock,
    .xShmBarrier = kvfs_shm_barrier,
    .xShmUnmap = kvfs_shm_unmap,
};

static int kvfs_open(
    sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    KvfsFile *opened = (KvfsFile *)file;
    opened->base.pMethods = NULL;
    if (strike(OPEN)) return SQLITE_CANTOPEN;
    opened->path = name;
    opened->real = (sqlite3_file *)(opened + 1);
    int code = real_vfs->xOpen(real_vfs, name, opened->real, flags, out_flags);
    if (opened->real->pMethods) opened->base.pMethods = &methods;
    return code;
}

static int kvfs_delete(sqlite3_vfs *vfs, const char *name, int sync_folder) {
    (void)vfs;
    (void)sync_folder;
    if (strike(DELETE)) return SQLITE_IOERR_DELETE;
    forget_old(name);
    return real_vfs->xDelete(real_vfs, name, 0);
}

void kvfs_install(void) {
    static sqlite3_vfs vfs;
    if (real_vfs) return;
    real_vfs = sqlite3_vfs_find(NULL);
    vfs = *real_vfs;
    vfs.zName = "kvfs";
    vfs.szOsFile = (int)sizeof(KvfsFile) + real_vfs->szOsFile;
    vfs.xOpen = kvfs_open;
    vfs.xDelete = kvfs_delete;
    int code = sqlite3_vfs_register(&vfs, 1);
    assert(code == SQLITE_OK);
    (void)code;
}

void kvfs_allocate_ahead(bool allocates) { skips_ahead = !allocates; }

/* Stands for libc's in this program. */
int fallocate(int file, int mode, off_t offset, off_t size) {
    return skips_ahead ? 0 : (int)syscall(SYS_fallocate, file, mode, offset, size);
}
