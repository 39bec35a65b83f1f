#include "kernels/native/native_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static Error *map_part(int descriptor, uint64_t offset, uint64_t size, void **out) {
    void *memory = mmap(
        NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, (off_t)offset);
    if (memory == MAP_FAILED)
        FAIL(OUT_OF_MEMORY, "no room for the memory that a native worker shares: %s",
            strerror(errno));
    *out = memory;
    return NULL;
}

Error *native_map(int descriptor, NativeRings **out_rings, uint8_t **out_data) {
    void *memory;
    TRY(map_part(descriptor, 0, sizeof(NativeRings), &memory));
    *out_rings = memory;
    TRY(map_part(descriptor, NATIVE_DATA, NATIVE_DATA_MAX, &memory));
    *out_data = memory;
    return NULL;
}

void native_unmap(NativeRings *rings, uint8_t *data) {
    if (data) (void)munmap(data, NATIVE_DATA_MAX);
    if (rings) (void)munmap(rings, sizeof(NativeRings));
}
