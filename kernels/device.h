#pragma once
/* A device: a table of functions over its own memory, and the registry that opens one by name
 * ("cpu", "sim:0").
 *
 * The executor touches a device only through this table. Addresses are the device's: on cpu they
 * are pointers, elsewhere handles that the host cannot dereference; base + offset arithmetic inside
 * one allocation is allowed.
 *
 * A call that reaches the device may fail with DEVICE_LOST: it is gone with its memory, and every
 * further call but free and close fails the same way. Any other error is of that call alone. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "kernels/plan.h"

enum { DEVICE_ABI_VERSION = 1, DEVICE_NAME_MAX = 32, DEVICE_ALIGNMENT = 64 };

typedef struct Device Device;

typedef struct DeviceMemory {
    uint64_t total_bytes;
    uint64_t free_bytes;
} DeviceMemory;

typedef struct DeviceClass {
    uint32_t abi_version; /* DEVICE_ABI_VERSION */
    const char *kind;     /* "cpu", "sim", "cuda" */
    /* options: what follows the index in a device SPEC, e.g. "memory=1GiB"; "" for none. */
    Error *(*open)(const char *kind, uint32_t index, const char *options, Device **out);
    void (*close)(Device *device);
    Error *(*memory)(Device *device, DeviceMemory *out);
    /* Zeroed memory aligned to DEVICE_ALIGNMENT. Errors: EXHAUSTED not enough free just now. */
    Error *(*alloc)(Device *device, uint64_t size, uint64_t *out_address);
    void (*free)(Device *device, uint64_t address, uint64_t size);
    Error *(*copy_from_host)(Device *device, uint64_t to, const void *from, uint64_t size);
    Error *(*copy_to_host)(Device *device, void *to, uint64_t from, uint64_t size);
    Error *(*copy)(
        Device *device, uint64_t to, uint64_t from, uint64_t size); /* inside the device */
    /* Chooses a kernel and prepares it: a pure function of the request and the device's determinism
     * class. Errors: UNSUPPORTED no kernel takes this operator with these element types; INVALID
     * the shapes do not fit. */
    Error *(*plan)(Device *device, const PlanRequest *request, Plan **out);
    /* Packed weights (see kernels/plan.h). out_layout 0: stays plain. NULL function: this device
     * packs nothing. */
    Error *(*pack_rule)(
        Device *device, const PackRequest *request, uint32_t *out_layout, uint64_t *out_bytes);
    /* Reads the plain constant from host memory, writes the packed form to an address of the
     * device. */
    Error *(*pack)(Device *device, const PackRequest *request, uint32_t layout, const void *plain,
        uint64_t to);
    /* The kernel tables in the order they are asked, NULL-terminated, for listings. NULL function:
     * none. */
    const struct Kernel *const *(*kernels)(Device *device);
    /* Addresses are pointers of this process, so that copies may be memcpy. */
    bool host_memory;
    /* Appends the determinism class: device model, effective instruction set, kernel table and
     * library versions. */
    void (*determinism_class)(Device *device, TextBuilder *out);
} DeviceClass;

/* Implementations embed this as their first member. */
struct Device {
    const DeviceClass *class_;
    uint32_t index;
    char name[DEVICE_NAME_MAX]; /* "cpu", "sim:0" */
    /* All of its memory, once it was asked for: that is expensive on some devices. 0: not yet. */
    _Atomic uint64_t total_bytes;
};

/* SPEC: "cpu", "sim:0", "sim:1,memory=64MiB". Errors: USAGE the SPEC cannot be understood;
 * UNSUPPORTED no such kind in this build or on this machine (says which exist). Close with
 * device_close. */
MUST_CHECK Error *device_open(const char *spec, Device **out);
void device_close(Device *device);
DEFINE_OWN(Device, device_close);
/* The kinds this build knows, NULL-terminated, "cpu" first. */
const DeviceClass *const *device_classes(void);
/* A cpu device that uses only kernels whose bits are the same on every machine: for constant
 * folding. */
MUST_CHECK Error *device_open_portable(Device **out);

/* Plain host memory without kernels, for tensors that belong to no execution (attributes,
 * constants being read). Always there, never closed; shares memory with cpu. */
Device *device_host(void);

/* The device's whole memory; asked for once. */
MUST_CHECK Error *device_total_bytes(Device *device, uint64_t *out_bytes);
/* True when both are the same memory, so that a copy between them is a reference. */
bool device_shares_memory(const Device *a, const Device *b);
/* Copies between any two devices, through host memory where they are different. */
MUST_CHECK Error *device_transfer(
    Device *to_device, uint64_t to, Device *from_device, uint64_t from, uint64_t size);
