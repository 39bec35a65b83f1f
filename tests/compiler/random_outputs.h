#pragma once
/* Random models of operators with several outputs, whose small ones decide Ifs, Loops and shapes:
 * what decides must be on the host though a large output of the same call is on the device. */
#include "tests/compiler/onnx_fixtures.h"

/* x: float32[6,20] or, for some, float32[n,20]; one to three outputs. */
OnnxModel *random_outputs_make(uint64_t seed);
