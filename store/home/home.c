#include "store/home/home.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/text.h"

enum { PID_TEXT_SIZE = 24, PID_WIDTH = 20 };

static Error *fail_errno(const char *what, const char *path) {
    int number = errno;
    if (number == ENOSPC || number == EDQUOT)
        FAIL(EXHAUSTED, "%s %s: no space left on the disk", what, path);
    FAIL(IO, "%s %s: %s", what, path, strerror(number));
}

/* A new name is durable only after a sync of the folder that contains it. */
static Error *sync_parent(char *path) {
    char *slash = strrchr(path, '/');
    const char *parent = slash ? (slash == path ? "/" : path) : ".";
    if (slash && slash != path) *slash = 0;
    int folder = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    Error *error = folder < 0 || fsync(folder) != 0 ? fail_errno("sync", parent) : NULL;
    if (folder >= 0) (void)close(folder);
    if (slash && slash != path) *slash = '/';
    return error;
}

static Error *make_folder(char *path) {
    struct stat status;
    if (mkdir(path, 0700) == 0) return sync_parent(path);
    if (errno != EEXIST) return fail_errno("make", path);
    if (stat(path, &status) != 0) return fail_errno("look at", path);
    if (!S_ISDIR(status.st_mode)) FAIL(IO, "make %s: it is there and no directory", path);
    return NULL;
}

Error *home_create(const char *home) {
    if (!*home) FAIL(INVALID, "the home's path is empty");
    TextBuilder OWN_TEXT(path) = {0};
    text_append(&path, home);
    TRY(text_builder_check(&path));
    for (char *slash = strchr(path.data + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        TRY(make_folder(path.data));
        *slash = '/';
    }
    return make_folder(path.data);
}

Error *home_resolve(const char *home, char **out_path) {
    char path[PATH_MAX];
    if (realpath(home, path)) return memory_copy_text(path, out_path);
    if (errno == ENOENT || errno == ENOTDIR) FAIL(NOT_FOUND, "no home at %s", home);
    return fail_errno("look at", home);
}

Error *home_path(const char *home, const char *name, char **out_path) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/%s", home, name);
    return text_builder_take(&path, out_path);
}

bool home_has(const char *home, const char *name) {
    char *path;
    Error *error = home_path(home, name, &path);
    if (error) {
        error_free(error); /* out of memory: the next function that opens the file reports it */
        return true;
    }
    bool found = access(path, F_OK) == 0;
    memory_free(path);
    return found;
}

/* The owner writes its pid after taking the lock, so the file may be empty for a moment. */
static Error *fail_in_use(int lock) {
    char text[PID_TEXT_SIZE] = {0};
    int64_t pid;
    ssize_t size = lock < 0 ? 0 : pread(lock, text, sizeof text - 1, 0);
    if (size > 0 && text[size - 1] == '\n') text[size - 1] = 0;
    if (size <= 0 || !text_parse_i64(text + strspn(text, " "), &pid) || pid <= 0)
        FAIL(REFUSED, "home is in use by another process; use the daemon or another --home");
    FAIL(REFUSED, "home is in use by pid %lld; use the daemon or another --home", (long long)pid);
}

static bool try_flock(int descriptor) {
    int result;
    do {
        result = flock(descriptor, LOCK_EX | LOCK_NB);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static Error *lock_file(const HomeLock *lock, const char *path) {
    if (!try_flock(lock->file))
        return errno == EWOULDBLOCK ? fail_in_use(lock->file) : fail_errno("lock", path);
    /* The lock file may be removed and made again; the home's folder may not, so it is locked,
     * too. */
    if (!try_flock(lock->folder))
        return errno == EWOULDBLOCK ? fail_in_use(-1) : fail_errno("lock the folder of", path);
    char text[PID_TEXT_SIZE];
    /* Every pid is written in the same size, since truncating a file takes half a millisecond. The
     * pid is for people and need not survive a power cut, so there is no sync. */
    int size = snprintf(text, sizeof text, "%*lld\n", PID_WIDTH, (long long)getpid());
    if (pwrite(lock->file, text, (size_t)size, 0) != size) return fail_errno("write", path);
    return NULL;
}

Error *home_lock(const char *home, HomeLock *out_lock) {
    char *path;
    HomeLock lock = {.file = -1, .folder = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (lock.folder < 0 && errno == ENOENT) FAIL(NOT_FOUND, "no home at %s", home);
    if (lock.folder < 0) return fail_errno("open", home);
    Error *error = home_path(home, "lock", &path);
    if (!error) {
        lock.file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        error = lock.file < 0 ? fail_errno("open", path) : lock_file(&lock, path);
        memory_free(path);
    }
    if (error)
        home_unlock(&lock);
    else
        *out_lock = lock;
    return error;
}

void home_unlock(HomeLock *lock) {
    if (lock->file >= 0) (void)close(lock->file);
    if (lock->folder >= 0) (void)close(lock->folder);
    lock->file = lock->folder = -1;
}

bool home_still_has(const HomeLock *lock, const char *name, int descriptor) {
    struct stat held, found;
    return fstat(descriptor, &held) == 0 && fstatat(lock->folder, name, &found, 0) == 0 &&
           held.st_dev == found.st_dev && held.st_ino == found.st_ino;
}
