#include "kernels/device/host_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "base/checked.h"
#include "base/sanitizers.h"
#include "kernels/device/host_chunks.h"
#include "kernels/device/kernel_stop.h"

/* Each block from this size on is a mapping of its own, so that its memory returns to the system at
 * once. */
enum { COPY_PART_BYTES = 32 << 20 }; /* some milliseconds between two looks at the stop */
enum { MAP_BYTES_MIN = HOST_CHUNKS_BLOCK_MAX + 1 };

/* A build with a sanitizer cuts no chunks: the sanitizer sees overruns only of malloc's blocks. */
static bool is_cut(uint64_t size) {
    return !BUILT_WITH_ADDRESS_SANITIZER && size >= HOST_CHUNKS_BLOCK_MIN && size < MAP_BYTES_MIN;
}

Error *host_memory_alloc(
    Device *device, DeviceStream *stream, uint64_t size, uint64_t *out_address) {
    (void)stream;
    void *block;
    if (size >= MAP_BYTES_MIN || is_cut(size)) {
        Error *error = is_cut(size) ? host_chunks_alloc(size, &block) : memory_map(size, &block);
        TRY_WRAP(error_recode(error, ERROR_EXHAUSTED), "%s", device->name);
        *out_address = (uint64_t)(uintptr_t)block;
        return NULL;
    }
    /* the block's start is kept in front of the aligned address */
    TRY(memory_alloc(1, (size_t)size + DEVICE_ALIGNMENT + sizeof block, &block));
    uintptr_t address = ((uintptr_t)block + sizeof block + DEVICE_ALIGNMENT - 1) &
                        ~(uintptr_t)(DEVICE_ALIGNMENT - 1);
    memcpy((char *)address - sizeof block, &block, sizeof block);
    *out_address = address;
    return NULL;
}

void host_memory_free(Device *device, DeviceStream *stream, uint64_t address, uint64_t size) {
    (void)device;
    (void)stream;
    if (address == 0) return;
    if (size >= MAP_BYTES_MIN) {
        memory_unmap((void *)(uintptr_t)address, size);
        return;
    }
    if (is_cut(size)) {
        host_chunks_free((void *)(uintptr_t)address, size);
        return;
    }
    void *block;
    memcpy(&block, (char *)(uintptr_t)address - sizeof block, sizeof block);
    memory_free(block);
}

/* MemAvailable of /proc/meminfo: memory that the system can give without swapping; 0 when the file
 * cannot be read. */
static uint64_t available_bytes(void) {
    char text[1024];
    int descriptor = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return 0;
    ssize_t size = read(descriptor, text, sizeof text - 1);
    (void)close(descriptor);
    if (size <= 0) return 0;
    text[size] = 0;
    static const char key[] = "MemAvailable:";
    const char *at = strstr(text, key);
    return at ? strtoull(at + sizeof key - 1, NULL, 10) * 1024 : 0;
}

Error *host_memory_info(Device *device, DeviceMemory *out) {
    uint64_t total = memory_machine_bytes(), free_now = available_bytes();
    if (!total) FAIL(IO, "%s: the system does not tell its memory", device->name);
    *out = (DeviceMemory){total, free_now && free_now < total ? free_now : total};
    return NULL;
}

/* The areas may be the same or overlap towards the front. */
static Error *copy(void *to, const void *from, uint64_t size) {
    for (uint64_t done = 0, part; done < size; done += part) {
        part = size - done < COPY_PART_BYTES ? size - done : COPY_PART_BYTES;
        if (done > 0) TRY(kernel_stop_check());
        memmove((char *)to + done, (const char *)from + done, part);
    }
    return NULL;
}

Error *host_memory_copy_from_host(
    Device *device, DeviceStream *stream, uint64_t to, const void *from, uint64_t size) {
    (void)device;
    (void)stream;
    return copy((void *)(uintptr_t)to, from, size);
}

Error *host_memory_copy_to_host(
    Device *device, DeviceStream *stream, void *to, uint64_t from, uint64_t size) {
    (void)device;
    (void)stream;
    return copy(to, (const void *)(uintptr_t)from, size);
}

Error *host_memory_copy(
    Device *device, DeviceStream *stream, uint64_t to, uint64_t from, uint64_t size) {
    (void)device;
    (void)stream;
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, size);
}
