#pragma once
/* Runs a call on the cpu device and on the portable one, with several threads, odd addresses and in
 * place, and checks that all of it comes to the same bits: what kernels of our own promise. */
#include "tests/support/device_call.h"
#include "tests/support/test_support.h"

/* call: without device, threads, offset and in_place. out_outputs: to be released. */
void everywhere_run(const DeviceCall *call, Tensor **out_outputs);
/* The same; output 0 must hold these numbers (NaN for NaN), within relative error `tolerance`. */
void everywhere_check(const DeviceCall *call, const double *expected, double tolerance);
/* expected numbers behind one output. */
void everywhere_compare(const Tensor *tensor, const double *expected, double tolerance);
/* Releases the call's inputs. */
void everywhere_release(DeviceCall *call);

/* The two devices, opened once. */
Device *everywhere_cpu(void);
Device *everywhere_portable(void);
