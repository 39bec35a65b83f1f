#include "scheduler/node/upload_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

Error *upload_file_make(const char *folder, int *out_descriptor, char **out_path) {
    TextBuilder OWN_TEXT(path) = {0};
    text_appendf(&path, "%s/upload.XXXXXX", folder);
    TRY(text_builder_check(&path));
    int descriptor = mkostemp(path.data, O_CLOEXEC);
    if (descriptor < 0) {
        if (errno == ENOSPC || errno == EDQUOT) FAIL(EXHAUSTED, "no space left on the disk");
        FAIL(IO, "a temporary file cannot be made: %s", strerror(errno));
    }
    *out_descriptor = descriptor;
    return text_builder_take(&path, out_path); /* cannot fail: the path was checked */
}

Error *upload_file_write(int descriptor, const uint8_t *data, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = write(descriptor, data + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
            FAIL(EXHAUSTED, "no space left on the disk");
        if (put < 0) FAIL(IO, "a temporary file cannot be written: %s", strerror(errno));
        done += (size_t)put;
    }
    return NULL;
}
