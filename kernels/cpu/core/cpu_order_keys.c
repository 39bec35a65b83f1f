#include "kernels/cpu/core/cpu_order_keys.h"

#include "kernels/cpu/core/cpu_vector.h"
#include "kernels/scalar/scalar_base.h"

CPU_INLINE void order_keys_body(
    const float *x, int64_t count, uint32_t flip, uint32_t *keys, uint32_t *out_most) {
    uint32_t most = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint32_t bits = scalar_bits_f32(x[i] + 0.0f); /* of -0 those of 0 */
        const uint32_t negative = 0 - (bits >> 31), nan = 0 - (uint32_t)(x[i] != x[i]);
        keys[i] = ((bits ^ (negative | 0x80000000u)) | nan) ^ flip;
    }
    for (int64_t i = 0; i < count; i++) most = keys[i] > most ? keys[i] : most;
    *out_most = most;
}
CPU_VARIANTS(order_keys,
    (const float *x, int64_t count, uint32_t flip, uint32_t *keys, uint32_t *out_most),
    (x, count, flip, keys, out_most));

CpuOrderKeys *cpu_order_keys_for(CpuLevel level) { return order_keys_for(level); }
