/* The forms that operators on images and signals had in older opsets give what they gave there. */
#include <stdio.h>

#include "tests/compiler/onnx_run.h"

/* One node from x (and initializers) to y, float32 of any shape. */
static OnnxModel *one_node(
    int64_t opset, const char *op_type, const char *inputs, OnnxNodeProto **out_node) {
    OnnxModel *model = onnx_model_make(opset);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    *out_node = onnx_add_node(model->graph, op_type, inputs, "y");
    return model;
}

static void test_onnx_vision_resize_by_scales_has_no_half_pixels(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(10, "Resize", "x,scales", &node);
    onnx_set_text(node, "mode", "linear");
    onnx_add_initializer(model->graph, "scales", "float32[1] 2");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[4] 1 1.5 2 2");
    model = one_node(10, "Resize", "x,scales", &node);
    onnx_add_initializer(model->graph, "scales", "float32[1] 0.75");
    onnx_model_expect(model, "float32[4] 1 2 3 4 -> float32[3] 1 3 4"); /* the one behind */
    model = one_node(10, "Resize", "x,scales", &node);
    onnx_add_initializer(model->graph, "scales", "float32[2] 1.5 0.75");
    onnx_model_expect(model, "float32[2,4] 1 2 3 4 5 6 7 8 -> float32[3,3] 1 3 4 1 3 4 5 7 8");
    model = onnx_model_make(10);
    onnx_add_input(model->graph, "x", "float32");
    onnx_add_output(model->graph, "y", "float32");
    onnx_add_initializer(model->graph, "given", "float32[1] 0.75");
    onnx_add_node(model->graph, "Identity", "given", "scales");
    onnx_add_node(model->graph, "Resize", "x,scales", "y");
    onnx_model_expect(model, "float32[4] 1 2 3 4 -> float32[3] 1 3 4");
    model = one_node(11, "Resize", "x,none,scales", &node);
    onnx_set_text(node, "mode", "linear");
    onnx_add_initializer(model->graph, "none", "float32[0] ");
    onnx_add_initializer(model->graph, "scales", "float32[1] 2");
    onnx_model_expect(model, "float32[2] 1 2 -> float32[4] 1 1.25 1.75 2");
}

static void test_onnx_vision_upsample_takes_scales_from_either_place(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(7, "Upsample", "x", &node);
    onnx_set_floats(node, "scales", "1 2");
    onnx_model_expect(model, "float32[1,2] 1 2 -> float32[1,4] 1 1 2 2");
    model = one_node(9, "Upsample", "x,scales", &node);
    onnx_set_text(node, "mode", "linear");
    onnx_add_initializer(model->graph, "scales", "float32[2] 1 2");
    onnx_model_expect(model, "float32[1,2] 1 2 -> float32[1,4] 1 1.5 2 2");
    model = one_node(1, "Upsample", "x", &node);
    onnx_set_text(node, "mode", "bilinear");
    onnx_set_float(node, "height_scale", 1);
    onnx_set_float(node, "width_scale", 2);
    onnx_model_expect(model, "float32[1,1,1,2] 1 2 -> float32[1,1,1,4] 1 1.5 2 2");
    onnx_model_refused(
        UNSUPPORTED, "an Upsample without scales", one_node(7, "Upsample", "x", &node));
}

static void test_onnx_vision_grid_sample_modes_have_other_names(void **state) {
    static const struct {
        const char *old, *new, *result;
    } rows[] = {
        {"bilinear", "linear", "1.5"}, {"bicubic", "cubic", "1.5"}, {"nearest", "nearest", "1"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char signature[80];
        (void)snprintf(signature, sizeof signature, "float32[1,1,1,2] 1 2 -> float32[1,1,1,1] %s",
            rows[i].result);
        for (int today = 0; today < 2; today++) {
            OnnxNodeProto *node;
            OnnxModel *model = one_node(today ? 20 : 16, "GridSample", "x,grid", &node);
            onnx_set_text(node, "mode", today ? rows[i].new : rows[i].old);
            onnx_set_text(node, "padding_mode", "border");
            onnx_add_initializer(model->graph, "grid", "float32[1,1,1,2] 0 0");
            onnx_model_expect(model, signature);
        }
    }
    OnnxNodeProto *node;
    OnnxModel *model = one_node(16, "GridSample", "x,grid", &node);
    onnx_add_initializer(model->graph, "grid", "float32[1,1,1,2] 0 0");
    onnx_model_expect(model, "float32[1,1,1,2] 1 2 -> float32[1,1,1,1] 1.5");
}

static void test_onnx_vision_roi_align_did_not_shift_coordinates(void **state) {
    (void)state;
    for (int64_t opset = 10; opset <= 22; opset += 6) {
        OnnxNodeProto *node;
        OnnxModel *model = one_node(opset, "RoiAlign", "x,rois,images", &node);
        onnx_add_initializer(model->graph, "rois", "float32[1,4] 0 0 1 1");
        onnx_add_initializer(model->graph, "images", "int64[1] 0");
        onnx_model_expect(model, opset < 16 ? "float32[1,1,2,2] 1 2 3 4 -> float32[1,1,1,1] 2.5"
                                            : "float32[1,1,2,2] 1 2 3 4 -> float32[1,1,1,1] 1");
    }
}

static void test_onnx_vision_norms_may_be_floats(void **state) {
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(1, "GlobalLpPool", "x", &node);
    onnx_set_float(node, "p", 1);
    onnx_model_expect(model, "float32[1,1,2] 3 -4 -> float32[1,1,1] 7");
    model = one_node(1, "LpPool", "x", &node);
    onnx_set_ints(node, "kernel_shape", "2");
    onnx_model_expect(model, "float32[1,1,2] 3 -4 -> float32[1,1,1] 5");
    model = one_node(18, "LpPool", "x", &node);
    onnx_set_ints(node, "kernel_shape", "2");
    onnx_set_int(node, "p", 1);
    onnx_model_expect(model, "float32[1,1,2] 3 -4 -> float32[1,1,1] 7");
    model = one_node(1, "GlobalLpPool", "x", &node);
    onnx_set_float(node, "p", 1.5f);
    onnx_model_refused(UNSUPPORTED, "a norm of 1.5", model);
}

static void test_onnx_vision_dft_takes_its_axis_from_an_attribute(void **state) {
    static const char first[] = "float32[2,2,1] 1 2 3 4 -> float32[2,2,2] 4 0 6 0 -2 0 -2 0";
    static const char second[] = "float32[2,2,1] 1 2 3 4 -> float32[2,2,2] 3 0 -1 0 7 0 -1 0";
    (void)state;
    OnnxNodeProto *node;
    OnnxModel *model = one_node(17, "DFT", "x", &node);
    onnx_model_expect(model, second);
    model = one_node(17, "DFT", "x", &node);
    onnx_set_int(node, "axis", 0);
    onnx_model_expect(model, first);
    model = one_node(20, "DFT", "x,,axis", &node);
    onnx_add_initializer(model->graph, "axis", "int64[] 0");
    onnx_model_expect(model, first);
}

int test_onnx_vision(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onnx_vision_resize_by_scales_has_no_half_pixels),
        cmocka_unit_test(test_onnx_vision_upsample_takes_scales_from_either_place),
        cmocka_unit_test(test_onnx_vision_grid_sample_modes_have_other_names),
        cmocka_unit_test(test_onnx_vision_roi_align_did_not_shift_coordinates),
        cmocka_unit_test(test_onnx_vision_norms_may_be_floats),
        cmocka_unit_test(test_onnx_vision_dft_takes_its_axis_from_an_attribute),
    };
    return cmocka_run_group_tests_name("onnx_vision", tests, NULL, NULL);
}
