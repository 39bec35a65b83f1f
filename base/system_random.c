#include "base/system_random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>

Error *system_random(void *out, size_t size) {
    ssize_t got;
    do {
        got = getrandom(out, size, 0);
    } while (got < 0 && errno == EINTR);
    if (got != (ssize_t)size)
        FAIL(IO, "no random numbers from the system: %s", got < 0 ? strerror(errno) : "too few");
    return NULL;
}
