#pragma once
/* The fake driver's FakeControl, for a test whose device has loaded it. */
#include "tests/support/fake_cuda/fake_cuda.h"

/* Fails the test where the driver is another. */
FakeControl *fake_control_find(void);
