#pragma once
/* Tensors across public boundaries: DLPack's managed tensors, in host memory. */
#include <dlpack/dlpack.h>

#include "kernels/tensor/tensor.h"

/* A managed tensor over the same bytes; its deleter releases our reference. Errors: UNSUPPORTED
 * strings, or memory whose addresses are no pointers. */
MUST_CHECK Error *tensor_dlpack_export(Tensor *tensor, DLManagedTensor **out);
/* A tensor over the producer's bytes, sealed; when they are not compact row-major, a compact copy.
 * device: a device with host memory. owned_managed is consumed, also on failure.
 * Errors: INVALID, UNSUPPORTED for other devices, lanes, types below a byte that are not compact.
 */
MUST_CHECK Error *tensor_dlpack_import(
    Device *device, DLManagedTensor *owned_managed, Tensor **out);
