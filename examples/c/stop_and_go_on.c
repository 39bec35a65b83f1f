/* Runs examples/loop in two parts: stops it between two instructions, keeps its state as bytes, and
 * goes on from them.
 *
 *   cc stop_and_go_on.c $(pkg-config --cflags --libs layover) -o stop_and_go_on
 *   ./stop_and_go_on ../loop/loop.onnx */
#include <stdio.h>
#include <stdlib.h>

#include <layover.h>

enum { SIZE = 16, ROUNDS = 1000, HALF = 2000 };

/* Prints an error and frees it. Returns whether there was one. */
static int failed(LayoverError *error) {
    if (!error) return 0;
    fprintf(stderr, "%s: %s\n", layover_error_code(error), layover_error_message(error));
    layover_error_free(error);
    return 1;
}

/* The library calls this when it needs the tensor no longer. Here the data is the caller's. */
static void forget(DLManagedTensor *tensor) { (void)tensor; }

static DLManagedTensor make_tensor(void *data, DLDataType dtype, int64_t *dims, int32_t rank) {
    DLManagedTensor tensor = {0};
    tensor.dl_tensor.data = data;
    tensor.dl_tensor.device.device_type = kDLCPU;
    tensor.dl_tensor.ndim = rank;
    tensor.dl_tensor.dtype = dtype;
    tensor.dl_tensor.shape = dims;
    tensor.deleter = forget;
    return tensor;
}

/* Runs to the middle and takes a checkpoint; the first execution ends here. */
static LayoverError *run_half(
    LayoverModel *model, DLManagedTensor **inputs, void **out_bytes, size_t *out_size) {
    LayoverExecution *execution = NULL;
    LayoverState state;
    LayoverError *error = layover_execution_start(model, "main", inputs, 2, &execution);
    if (!error) error = layover_execution_run(execution, HALF, &state);
    if (!error) error = layover_execution_checkpoint_bytes(execution, out_bytes, out_size);
    layover_execution_free(execution);
    return error;
}

static LayoverError *run_rest(
    LayoverModel *model, const void *bytes, size_t size, DLManagedTensor **out_output) {
    LayoverExecution *execution = NULL;
    LayoverState state;
    LayoverError *error = layover_execution_resume_bytes(model, bytes, size, "half", &execution);
    if (!error) error = layover_execution_run(execution, 0, &state);
    if (!error) error = layover_execution_output(execution, 0, out_output);
    layover_execution_free(execution);
    return error;
}

int main(int argc, char **argv) {
    int64_t rounds = ROUNDS, dims[] = {1, SIZE};
    float x[SIZE];
    for (int i = 0; i < SIZE; i++) x[i] = (float)i / SIZE;
    DLManagedTensor count = make_tensor(&rounds, (DLDataType){kDLInt, 64, 1}, NULL, 0);
    DLManagedTensor begin = make_tensor(x, (DLDataType){kDLFloat, 32, 1}, dims, 2);
    DLManagedTensor *inputs[] = {&count, &begin}, *output = NULL;
    LayoverModel *model = NULL;
    void *bytes = NULL;
    size_t size = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: stop_and_go_on MODEL\n");
        return EXIT_FAILURE;
    }
    int bad = failed(layover_model_open(argv[1], "cpu", &model)) ||
              failed(run_half(model, inputs, &bytes, &size)) ||
              failed(run_rest(model, bytes, size, &output));
    if (!bad) {
        const float *y = (const float *)output->dl_tensor.data;
        printf("checkpoint: %zu bytes; y[0] = %.6f\n", size, (double)y[0]);
        output->deleter(output);
    }
    layover_bytes_free(bytes);
    layover_model_close(model);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
