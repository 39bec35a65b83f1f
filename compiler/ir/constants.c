#include "compiler/ir/constants.h"

#include "kernels/device/device.h"
#include "kernels/tensor/dtype_scalar.h"
#include "kernels/tensor/string_tensor.h"

Error *constants_zeros(IrModule *module, DType dtype, const Shape *shape, IrVariable **out) {
    OWN(Tensor, tensor) = NULL;
    if (dtype == DTYPE_STRING && shape_count_unchecked(shape) == 0)
        TRY(string_tensor_create(shape, NULL, &tensor));
    else
        TRY(tensor_create_on_host(device_host(), dtype, shape, &tensor));
    return ir_constant_tensor(module, tensor, out);
}

Error *constants_ints(
    IrModule *module, uint32_t rank, uint32_t count, const int64_t *values, IrVariable **out) {
    int64_t dim = count;
    Shape shape = shape_make(rank, &dim);
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(device_host(), DTYPE_INT64, &shape, &tensor));
    TRY(tensor_copy_from_host(tensor, values));
    return ir_constant_tensor(module, tensor, out);
}

Error *constants_number(IrModule *module, DType dtype, double value, IrVariable **out) {
    OWN(Tensor, tensor) = NULL;
    const Shape shape = {.rank = 0};
    TRY(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    if (!dtype_scalar_write(dtype, value, tensor_data(tensor)))
        FAIL(UNSUPPORTED, "numbers of type %s", dtype_name(dtype));
    return ir_constant_tensor(module, tensor, out);
}

Error *constants_copy(IrModule *module, const Tensor *tensor, IrVariable **out) {
    OWN(Tensor, copy) = NULL;
    TRY(tensor_create_copy_on_host(device_host(), tensor, &copy));
    return ir_constant_tensor(module, copy, out);
}
