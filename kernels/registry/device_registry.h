#pragma once
/* The kinds of devices of this build, and how a device is opened by its SPEC ("cpu", "sim:0").
 *
 * The registry is the only part of kernels/ that knows all kinds: those built in, those that are
 * plugins (plugin.h), and the worker process in which any of them may run (kernels/process/). A
 * device is closed with device_close (device.h).
 *
 * Threads: any. */
#include "kernels/device/device.h"

/* SPEC: "cpu", "sim:0", "sim:1,memory=64MiB". The option worker=process opens any kind but those
 * in host memory in a process of its own (kernels/process/), worker=none in this one; the default.
 * Errors: USAGE the SPEC cannot be understood; UNSUPPORTED no such kind in this build or on this
 * machine (says which exist). Close with device_close. */
MUST_CHECK Error *device_open(const char *spec, Device **out);
/* In this process, whatever the SPEC says: what a worker process does. Errors do not repeat the
 * SPEC. */
MUST_CHECK Error *device_open_here(const char *spec, Device **out);
/* The SPEC for a process that is to outlive its devices: kinds that are plugins in a worker
 * process, unless it says where. memory_free *out_spec. Errors: OUT_OF_MEMORY. */
MUST_CHECK Error *device_spec_apart(const char *spec, char **out_spec);
/* The kinds in this build, NULL-terminated, "cpu" first. */
const DeviceClass *const *device_classes(void);
/* The same and those that are plugins. */
const char *const *device_kinds(void);
/* How many devices of a kind this machine has; 0 for an unknown kind, and for one whose plugin or
 * driver is not here. */
uint32_t device_count(const char *kind);
/* A cpu device that uses only kernels whose bits are the same on every machine: for constant
 * folding. */
MUST_CHECK Error *device_open_portable(Device **out);
