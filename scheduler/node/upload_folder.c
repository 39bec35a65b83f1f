#include "scheduler/node/upload_folder.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/text.h"

enum { DESCRIPTORS_MAX = 8 };

/* Called for the files of a folder before the folder. */
static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)status, (void)type;
    return at->level > 0 && remove(path) != 0 ? -1 : 0;
}

static Error *empty(const char *path) {
    struct stat status;
    if (lstat(path, &status) != 0) FAIL(IO, "look at %s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode)) FAIL(IO, "%s is there and no directory", path);
    if (nftw(path, remove_one, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT) != 0)
        FAIL(IO, "cannot empty %s: %s", path, strerror(errno));
    return NULL;
}

Error *upload_folder_open(const char *home, char **out_path) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/uploads", home);
    TRY(text_builder_check(&path));
    const char *text = text_builder_get(&path);
    if (mkdir(text, 0700) != 0) {
        if (errno != EEXIST) FAIL(IO, "cannot make %s: %s", text, strerror(errno));
        TRY(empty(text));
    }
    return text_builder_take(&path, out_path);
}
