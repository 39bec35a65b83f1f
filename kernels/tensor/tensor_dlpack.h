#pragma once
/* Tensors across public boundaries: DLPack's managed tensors, in host memory. Called by the C
 * library (tools/library/). Threads: any. */
#include <dlpack/dlpack.h>

#include "kernels/tensor/tensor.h"

/* A managed tensor over the same bytes; its deleter releases the tensor's reference. Errors:
 * UNSUPPORTED strings, or memory whose addresses are no pointers. */
MUST_CHECK Error *tensor_dlpack_export(Tensor *tensor, DLManagedTensor **out);
/* A tensor over the producer's bytes, sealed; a compact copy if the bytes are not compact
 * row-major. device: a device with host memory. owned_managed is consumed, also on failure. Errors:
 * INVALID, UNSUPPORTED for other devices, lanes, types below a byte that are not compact. */
MUST_CHECK Error *tensor_dlpack_import(
    Device *device, DLManagedTensor *owned_managed, Tensor **out);
