#include "tests/kernels/native/native_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

NativeImage native_image(const char *name) {
    char path[512];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/libnative-%s.so", TEST_NATIVE, name);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, &status), 0);
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    assert_true(bytes != MAP_FAILED);
    (void)close(descriptor);
    return (NativeImage){.bytes = bytes,
        .size = (uint64_t)status.st_size,
        .name = "sample.so",
        .preload = TEST_NATIVE "/libnative-runtime.so"};
}

NativeLoaded *native_open(void) {
    NativeLoaded *loaded;
    const NativeImage image = native_image("sample");
    assert_ok(native_loader_open(image.bytes, image.size, image.preload, &loaded));
    return loaded;
}

NativeValue native_floats(float *items, int64_t count, bool writable) {
    return (NativeValue){.kind = NATIVE_TENSOR,
        .tensor = {.dtype = DTYPE_FLOAT32,
            .shape = shape_make(1, &count),
            .data = items,
            .writable = writable}};
}
