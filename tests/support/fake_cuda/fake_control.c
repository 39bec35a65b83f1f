#include "tests/support/fake_cuda/fake_control.h"

#include <dlfcn.h>

#include "tests/support/test_support.h"

FakeControl *fake_control_find(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    FakeControl *control = dlsym(library, "fake_control");
    assert_non_null(control);
    (void)dlclose(library); /* the device keeps it open */
    return control;
}
