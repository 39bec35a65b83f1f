#include "store/database/store_name.h"

#include "base/text.h"

Error *store_name_check(const char *what, const char *name) {
    if (text_is_name(name)) return NULL;
    FAIL(INVALID,
        "%s \"%.80s\" is no name; a name is 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or "
        "digit",
        what, name);
}
