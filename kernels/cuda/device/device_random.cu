/* RandomUniform and RandomNormal from Philox: element i depends on the key, the counter and i
 * alone, as on the cpu. */
#include "kernels/cuda/device/device_elements.h"
#include "kernels/tensor/philox.h"
#include "kernels/scalar/scalar_float.h"

KERNEL(layover_random, CudaRandomParams) {
    THREADS(t) {
        EACH_UNIT(i, t, p.count) {
            const double x = philox_number(p.key, p.counter, i, p.normal != 0);
            element_store(p.to, element_size(p.dtype), (int64_t)i,
                element_from_f64(p.dtype, x * p.scale + p.offset));
        }
    }
}
