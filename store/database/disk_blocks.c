#include "store/database/disk_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

/* With so much free space, more is allocated at once than needed. */
#define PLENTY ((uint64_t)256 << 20)

bool disk_blocks_take(int file, uint64_t end, uint64_t *inout_room) {
    uint64_t begin = *inout_room;
    if (end <= begin) return true;
    while (fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)begin, (off_t)(end - begin)) != 0) {
        if (errno == EINTR) continue;
        if (errno == ENOSPC || errno == EDQUOT) return false;
        end = DISK_BLOCKS_UNKNOWN;
        break;
    }
    *inout_room = end;
    return true;
}

static bool has_plenty(int file) {
    struct statvfs disk;
    return fstatvfs(file, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize > PLENTY;
}

bool disk_blocks_take_and_more(int file, uint64_t end, uint64_t more, uint64_t *inout_room) {
    return disk_blocks_take(file, has_plenty(file) ? end + more : end, inout_room);
}

void disk_blocks_renew(int file, uint64_t *inout_room) {
    struct stat status;
    if (*inout_room == DISK_BLOCKS_UNKNOWN || fstat(file, &status) != 0) return;
    *inout_room = (uint64_t)status.st_size;
    (void)disk_blocks_take(file, *inout_room + DISK_BLOCKS_SPARE, inout_room);
}

void disk_blocks_note_cut(uint64_t kept, uint64_t *inout_room) {
    if (*inout_room != DISK_BLOCKS_UNKNOWN && *inout_room > kept) *inout_room = kept;
}
