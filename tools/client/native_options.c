#include "tools/client/native_options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

Error *native_options_read_preload(const CommandContext *context, char **out) {
    TextBuilder OWN_TEXT(paths) = {0};
    const char *path;
    char whole[PATH_MAX];
    *out = NULL;
    for (uint32_t i = 0; (path = command_option_at(context, "native-preload", i)); i++) {
        if (!realpath(path, whole))
            FAIL(NOT_FOUND, "--native-preload %s: %s", path, strerror(errno));
        if (strchr(whole, ':'))
            FAIL(USAGE, "--native-preload %s: a path with ':' cannot be given", whole);
        text_appendf(&paths, "%s%s", paths.size ? ":" : "", whole);
    }
    TRY(text_builder_check(&paths));
    return paths.size ? text_builder_take(&paths, out) : NULL;
}
