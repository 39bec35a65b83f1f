#include "tests/store/small_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

enum { PIECE = 4096 };

/* Mounts go with the process, however it ends. */
static bool hide_mounts(void) {
    static bool hidden;
    if (!hidden)
        hidden =
            unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return hidden;
}

TestHome small_disk_make(int mebibytes) {
    TestHome home = fixture_home_make();
    char options[32];
    (void)snprintf(options, sizeof options, "size=%dm", mebibytes);
    if (!hide_mounts() || mount("tmpfs", home.path, "tmpfs", 0, options) != 0) {
        print_message("no file system can be mounted here: errno %d\n", errno);
        fixture_home_remove(&home);
        skip();
    }
    return home;
}

void small_disk_remove(TestHome *home) {
    (void)umount2(home->path, MNT_DETACH);
    fixture_home_remove(home);
}

void small_disk_fill(const TestHome *home) {
    static const char piece[PIECE];
    int file = open(fixture_path(home, "filler"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(file >= 0);
    while (write(file, piece, sizeof piece) == (ssize_t)sizeof piece) continue;
    assert_int_equal(errno, ENOSPC);
    (void)close(file);
}

void small_disk_empty(const TestHome *home) {
    assert_int_equal(unlink(fixture_path(home, "filler")), 0);
}
