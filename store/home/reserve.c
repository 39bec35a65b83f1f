#include "store/home/reserve.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/allocator.h"
#include "store/home/home.h"

enum { BLOCK_SIZE = 512 }; /* unit of st_blocks */

static bool is_taken(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && status.st_blocks >= RESERVE_SIZE / BLOCK_SIZE;
}

static void take(const char *path) {
    if (is_taken(path)) return;
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return;
    bool taken = fallocate(file, FALLOC_FL_KEEP_SIZE, 0, RESERVE_SIZE) == 0 ||
                 fallocate(file, FALLOC_FL_KEEP_SIZE, 0, RESERVE_SIZE_MIN) == 0;
    (void)close(file);
    if (!taken) (void)unlink(path); /* less is of no use */
}

static bool is_full(const char *home) {
    struct statvfs disk;
    return statvfs(home, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < RESERVE_SIZE;
}

typedef void Change(const char *path);

static void give_up(const char *path) { (void)unlink(path); }

static void change(const char *home, Change *how) {
    char *path;
    Error *error = home_path(home, "reserve", &path);
    if (!error) how(path);
    if (!error) memory_free(path);
    error_free(error); /* without memory the reserve stays unchanged */
}

void reserve_open(const char *home) { change(home, is_full(home) ? give_up : take); }

void reserve_close(const char *home) { change(home, take); }
