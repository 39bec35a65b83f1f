#pragma once
/* The cpu device: the host's own processor. SPEC "cpu" or "cpu:threads=2". Opened by
 * device_registry.c, and privately by the sim and cuda devices. */
#include "kernels/cpu/core/cpu_rules.h"
#include "kernels/device/device.h"

/* Opens the device of the SPEC "cpu", for devices that let the host compute. */
MUST_CHECK Error *cpu_device_open(Device **out);
/* See device_open_portable. */
MUST_CHECK Error *cpu_device_open_portable(Device **out);

/* For measuring and for tests alone: the level of a device's rules, and another value of a rule
 * from the next plan on. The device's determinism class then includes the value, so that it equals
 * no other device's. */
CpuLevel cpu_device_get_level(const Device *device);
void cpu_device_force_rule(Device *device, CpuRule rule, int64_t value);
