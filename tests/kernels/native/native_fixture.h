#pragma once
/* The sample libraries as images, for tests of native functions. */
#include "kernels/native/native_library.h"
#include "kernels/native/native_loader.h"
#include "tests/support/test_support.h"

/* name: "sample", "runtime". The bytes live until the process ends. */
NativeImage native_image(const char *name);
/* Loads the sample library and its runtime into this process. */
NativeLoaded *native_open(void);
NativeValue native_floats(float *items, int64_t count, bool writable);
