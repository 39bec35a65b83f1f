#pragma once
/* The kinds of devices of this build, and how a device is opened by its SPEC ("cpu", "sim:0").
 * Called by the control thread and its I/O tasks, the compiler, the command line and the C library.
 *
 * The registry is the only part of kernels/ that knows all kinds: those built in, those that are
 * plugins (plugin.h), and the worker process in which any of them may run (kernels/process/). A
 * device is closed with device_close (device.h).
 *
 * Threads: any. */
#include "kernels/device/device.h"

/* Opens a device. SPEC: "cpu", "sim:0", "sim:1,memory=64MiB". The option worker=process opens any
 * kind but those in host memory in a process of its own (kernels/process/); worker=none, the
 * default, in this one. Errors: USAGE the SPEC cannot be parsed; UNSUPPORTED no such kind in this
 * build or on this machine (lists the existing ones). Close with device_close. */
MUST_CHECK Error *device_open(const char *spec, Device **out);
/* Opens the device in this process, whatever the SPEC says; a worker process does this. Errors do
 * not repeat the SPEC. */
MUST_CHECK Error *device_open_here(const char *spec, Device **out);
/* The SPEC for a process that should outlive its devices: kinds that are plugins go into a worker
 * process, unless the SPEC says where. memory_free *out_spec. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *device_spec_apart(const char *spec, char **out_spec);
/* The kinds in this build, NULL-terminated, "cpu" first. */
const DeviceClass *const *device_classes(void);
/* The kinds in this build and those that are plugins. */
const char *const *device_kinds(void);
/* How many devices of a kind this machine has; 0 for an unknown kind, and for one whose plugin or
 * driver is missing. */
uint32_t device_count(const char *kind);
/* Opens a cpu device that uses only kernels with the same bits on every machine, for constant
 * folding. */
MUST_CHECK Error *device_open_portable(Device **out);
