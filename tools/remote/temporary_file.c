#include "tools/remote/temporary_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

Error *temporary_file_create(TemporaryFile *out) {
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(
        out->path, sizeof out->path, "%s/layover.XXXXXX", folder && *folder ? folder : "/tmp");
    const int descriptor = length < (int)sizeof out->path ? mkstemp(out->path) : -1;
    if (descriptor < 0) FAIL(IO, "a temporary file cannot be made; TMPDIR says where");
    (void)close(descriptor);
    out->exists = true;
    return NULL;
}

void temporary_file_delete(TemporaryFile *file) {
    if (file->exists) (void)unlink(file->path);
    file->exists = false;
}
