#pragma once
/* ONNX models made by tests, packed to bytes.
 *
 * Everything belongs to the model in the end, and goes when it is packed. Tensors are texts:
 * "float32[2,3] 1 2 3 4 5 6", "int64[] 7", "float32[n,?]" where only a type is meant, "float32"
 * without a shape. A type may have "optional " or "list " (a sequence) before it, or both. */
#include <stddef.h>
#include <stdint.h>

#include "onnx.pb-c.h"
#include "tests/support/test_support.h"

typedef Onnx__ModelProto OnnxModel;
typedef Onnx__GraphProto OnnxGraph;
typedef Onnx__NodeProto OnnxNodeProto;
typedef Onnx__AttributeProto OnnxAttribute;
typedef Onnx__TensorProto OnnxTensor;
typedef Onnx__FunctionProto OnnxFunction;

/* With an empty graph; opset of the default domain. */
OnnxModel *onnx_model_make(int64_t opset);
void onnx_model_import_domain(OnnxModel *model, const char *domain, int64_t version);
OnnxGraph *onnx_graph_make(void);

void onnx_add_input(OnnxGraph *graph, const char *name, const char *type);
void onnx_add_output(OnnxGraph *graph, const char *name, const char *type);
OnnxTensor *onnx_add_initializer(OnnxGraph *graph, const char *name, const char *tensor);
/* values, indices: tensors, NULL for an absent one; dims: "2 3". */
Onnx__SparseTensorProto *onnx_sparse_make(
    const char *name, const char *values, const char *indices, const char *dims);
void onnx_add_sparse_initializer(OnnxGraph *graph, Onnx__SparseTensorProto *owned_sparse);
void onnx_set_sparse(OnnxNodeProto *node, const char *name, Onnx__SparseTensorProto *owned_sparse);
/* inputs, outputs: "a,b,,c"; nothing between commas is an absent one. */
OnnxNodeProto *onnx_add_node(
    OnnxGraph *graph, const char *op_type, const char *inputs, const char *outputs);
OnnxFunction *onnx_add_function(OnnxModel *model, const char *domain, const char *name,
    const char *inputs, const char *outputs);
OnnxNodeProto *onnx_function_add_node(
    OnnxFunction *function, const char *op_type, const char *inputs, const char *outputs);
void onnx_node_set_domain(OnnxNodeProto *node, const char *domain);
/* What a call means, or what a function is, beside domain and name. */
void onnx_node_set_overload(OnnxNodeProto *node, const char *overload);
void onnx_function_set_overload(OnnxFunction *function, const char *overload);
void onnx_node_set_name(OnnxNodeProto *node, const char *name);

OnnxAttribute *onnx_set_int(OnnxNodeProto *node, const char *name, int64_t value);
OnnxAttribute *onnx_set_float(OnnxNodeProto *node, const char *name, float value);
OnnxAttribute *onnx_set_text(OnnxNodeProto *node, const char *name, const char *value);
/* values: "1 2 3" */
OnnxAttribute *onnx_set_ints(OnnxNodeProto *node, const char *name, const char *values);
OnnxAttribute *onnx_set_floats(OnnxNodeProto *node, const char *name, const char *values);
/* values: "A B" */
OnnxAttribute *onnx_set_texts(OnnxNodeProto *node, const char *name, const char *values);
OnnxAttribute *onnx_set_tensor(OnnxNodeProto *node, const char *name, const char *tensor);
OnnxAttribute *onnx_set_graph(OnnxNodeProto *node, const char *name, OnnxGraph *owned_graph);
/* Inside a function: the value is the call's attribute of that name. */
OnnxAttribute *onnx_set_reference(OnnxNodeProto *node, const char *name, const char *of_caller);

/* A tensor with the text's type and values, in raw_data; without values, no data at all. Free with
 * onnx__tensor_proto__free_unpacked. */
OnnxTensor *onnx_tensor_make(const char *name, const char *tensor);
char *onnx_text(const char *text);

/* Release with free. */
uint8_t *onnx_model_pack(OnnxModel *owned_model, size_t *out_size);
