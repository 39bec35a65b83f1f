/* fuzz_x FOLDER|FILE…: runs a fuzz target once over every file given. Ends by a signal when one of
 * them breaks it. */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/allocator.h"
#include "base/file.h"
#include "tests/fuzz/fuzz_target.h"

enum { INPUT_SIZE_MAX = 64 << 20 };

static int run_file(const char *path) {
    uint8_t *data = NULL;
    size_t size = 0;
    Error *error = file_read(path, INPUT_SIZE_MAX, &data, &size);
    if (error) {
        fprintf(stderr, "%s\n", error_message(error));
        error_free(error);
        return 1;
    }
    /* in a block of exactly its size, so that a sanitizer sees a read beyond it */
    void *copy = NULL;
    error = memory_alloc(size, 1, &copy);
    if (!error) {
        for (size_t i = 0; i < size; i++) ((uint8_t *)copy)[i] = data[i];
        (void)LLVMFuzzerTestOneInput(copy, size);
    }
    memory_free(copy);
    memory_unmap(data, size);
    error_free(error);
    return 0;
}

static int run_folder(const char *path, size_t *inout_count) {
    DIR *folder = opendir(path);
    if (!folder) {
        fprintf(stderr, "cannot open %s\n", path);
        return 1;
    }
    int failures = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char file[4096];
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        failures += run_file(file);
        ++*inout_count;
    }
    (void)closedir(folder);
    return failures;
}

int main(int argument_count, char **arguments) {
    int failures = 0;
    size_t count = 0;
    for (int i = 1; i < argument_count; i++) {
        struct stat status;
        if (stat(arguments[i], &status) == 0 && S_ISDIR(status.st_mode))
            failures += run_folder(arguments[i], &count);
        else {
            failures += run_file(arguments[i]);
            count++;
        }
    }
    printf("%zu inputs\n", count);
    return failures > 0 || count == 0;
}
