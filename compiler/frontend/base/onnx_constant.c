#include <stdio.h>
#include <string.h>

#include "compiler/frontend/base/onnx_internal.h"
#include "compiler/frontend/base/onnx_sparse.h"
#include "compiler/frontend/base/onnx_tensor.h"

enum { ADDRESS_TEXT_SIZE = 32 };

static Error *make(const OnnxNode *node, DType dtype, uint32_t rank, int64_t count,
    const void *data, IrVariable **out) {
    Shape shape = shape_make(rank, &count);
    OWN(Tensor, tensor) = NULL;
    TRY(tensor_create_on_host(node->import->device, dtype, &shape, &tensor));
    if (tensor_bytes(tensor)) memcpy(tensor_data(tensor), data, tensor_bytes(tensor));
    return ir_constant_tensor(node->import->module, tensor, out);
}

Error *onnx_constant_ints(
    const OnnxNode *node, const int64_t *values, size_t count, IrVariable **out) {
    return make(node, DTYPE_INT64, 1, (int64_t)count, values, out);
}

Error *onnx_reshape(const OnnxNode *node, IrVariable *tensor, uint32_t rank, const int64_t *dims,
    IrVariable **out) {
    IrVariable *shape;
    TRY(onnx_constant_ints(node, dims, rank, &shape));
    return ir_build_simple(onnx_at(node), "Reshape", NULL, tensor, shape, NULL, out);
}

Error *onnx_constant_floats(
    const OnnxNode *node, const float *values, size_t count, IrVariable **out) {
    return make(node, DTYPE_FLOAT32, 1, (int64_t)count, values, out);
}

Error *onnx_constant_strings(const OnnxNode *node, uint32_t rank, size_t count,
    const ProtobufCBinaryData *strings, IrVariable **out) {
    int64_t dim = (int64_t)count;
    Shape shape = shape_make(rank, &dim);
    OWN(Tensor, tensor) = NULL;
    TRY(onnx_tensor_make_strings(&shape, strings, &tensor));
    return ir_constant_tensor(node->import->module, tensor, out);
}

Error *onnx_constant_int0(const OnnxNode *node, int64_t value, IrVariable **out) {
    return make(node, DTYPE_INT64, 0, 1, &value, out);
}

Error *onnx_constant_float0(const OnnxNode *node, double value, DType dtype, IrVariable **out) {
    float narrow = (float)value;
    if (dtype == DTYPE_FLOAT64) return make(node, dtype, 0, 1, &value, out);
    IrVariable *constant;
    TRY(make(node, DTYPE_FLOAT32, 0, 1, &narrow, &constant));
    if (dtype != DTYPE_FLOAT16 && dtype != DTYPE_BFLOAT16) {
        *out = constant;
        return NULL;
    }
    return ir_build_cast(onnx_at(node), constant, dtype, out);
}

Error *onnx_constant_tensor(OnnxImport *import, const Onnx__TensorProto *proto, IrVariable **out) {
    char key[ADDRESS_TEXT_SIZE];
    (void)snprintf(key, sizeof key, "%p", (const void *)proto);
    IrVariable *constant = name_map_find(import->constants, key);
    if (!constant) {
        OWN(Tensor, tensor) = NULL;
        TRY(onnx_tensor_read(proto, import->folder, import->device, &tensor));
        TRY(ir_constant_tensor(import->module, tensor, &constant));
        TRY(name_map_set(import->constants, key, constant));
    }
    *out = constant;
    return NULL;
}

Error *onnx_constant_sparse(
    OnnxImport *import, const Onnx__SparseTensorProto *proto, IrVariable **out) {
    char key[ADDRESS_TEXT_SIZE];
    (void)snprintf(key, sizeof key, "%p", (const void *)proto);
    IrVariable *constant = name_map_find(import->constants, key);
    if (!constant) {
        OWN(Tensor, tensor) = NULL;
        TRY(onnx_sparse_read(proto, import->folder, import->device, &import->sparse_left, &tensor));
        TRY(ir_constant_tensor(import->module, tensor, &constant));
        TRY(name_map_set(import->constants, key, constant));
    }
    *out = constant;
    return NULL;
}

static Error *constant_floats(const OnnxNode *node, const Onnx__AttributeProto *from) {
    IrVariable *constant;
    if (from->has_type && from->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS)
        FAIL(INVALID, "attribute value_floats is not a list of floats");
    TRY(onnx_constant_floats(node, from->floats, from->n_floats, &constant));
    return onnx_node_set_output(node, 0, constant);
}

static Error *constant_strings(
    const OnnxNode *node, uint32_t rank, size_t count, const ProtobufCBinaryData *strings) {
    IrVariable *constant;
    TRY(onnx_constant_strings(node, rank, count, strings, &constant));
    return onnx_node_set_output(node, 0, constant);
}

Error *onnx_convert_constant(const OnnxNode *node) {
    IrVariable *constant = NULL;
    const Onnx__AttributeProto *from, *ints;
    TRY(onnx_attribute_ints(node, "value_ints", &ints));
    if ((from = onnx_attribute_find(node, "value")) && from->t)
        TRY(onnx_constant_tensor(node->import, from->t, &constant));
    else if ((from = onnx_attribute_find(node, "sparse_value")) && from->sparse_tensor)
        TRY(onnx_constant_sparse(node->import, from->sparse_tensor, &constant));
    else if ((from = onnx_attribute_find(node, "value_float")) && from->has_f)
        TRY(make(node, DTYPE_FLOAT32, 0, 1, &from->f, &constant));
    else if ((from = onnx_attribute_find(node, "value_int")) && from->has_i)
        TRY(onnx_constant_int0(node, from->i, &constant));
    else if (ints)
        TRY(onnx_constant_ints(node, ints->ints, ints->n_ints, &constant));
    else if ((from = onnx_attribute_find(node, "value_floats")))
        return constant_floats(node, from);
    else if ((from = onnx_attribute_find(node, "value_string")) && from->has_s)
        return constant_strings(node, 0, 1, &from->s);
    else if ((from = onnx_attribute_find(node, "value_strings")))
        return constant_strings(node, 1, from->n_strings, from->strings);
    else
        FAIL(UNSUPPORTED, "a constant without value, sparse_value, value_int(s), value_float(s), "
                          "value_string(s)");
    return onnx_node_set_output(node, 0, constant);
}
