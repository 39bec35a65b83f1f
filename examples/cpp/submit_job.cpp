/* Gives examples/loop to a daemon as a job, suspends the job, lets it go on, and reads its output.
 *
 *   c++ submit_job.cpp $(pkg-config --cflags --libs layover) -o submit_job
 *   layover serve &
 *   ./submit_job ../loop/loop.onnx            # or: ./submit_job MODEL SERVER
 *
 * SERVER is a socket's path, http://HOST:PORT, https://HOST:PORT, or a profile of `layover login`;
 * without it the program asks the daemon that the command line asks. */
#include <array>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include <layover_jobs.h>

namespace {

/* Makes an exception of an error. */
void check(LayoverError *error) {
    if (!error) return;
    const std::string text =
        std::string(layover_error_code(error)) + ": " + layover_error_message(error);
    layover_error_free(error);
    throw std::runtime_error(text);
}

template <auto release> struct Release {
    template <typename T> void operator()(T *handle) const { release(handle); }
};
using Client = std::unique_ptr<LayoverClient, Release<layover_client_close>>;
using Job = std::unique_ptr<LayoverJob, Release<layover_job_free>>;
using Outputs = std::unique_ptr<LayoverNamedValues, Release<layover_named_values_free>>;

Client open_client(const char *address) {
    LayoverServer server{};
    LayoverClient *client = nullptr;
    server.server = address;
    check(layover_client_open(&server, &client));
    return Client(client);
}

void register_model(const Client &client, const char *file) {
    LayoverValue answer{};
    check(layover_client_register(client.get(), "loop", file, nullptr, &answer));
    layover_value_release(&answer);
}

LayoverNamedValue name(const char *text, DLManagedTensor *tensor) {
    LayoverNamedValue named{};
    named.name = text;
    named.value.kind = LAYOVER_TENSOR;
    named.value.tensor = tensor;
    return named;
}

DLManagedTensor make_tensor(void *data, DLDataType dtype, int64_t *dims, int32_t rank) {
    DLManagedTensor tensor{};
    tensor.dl_tensor.data = data;
    tensor.dl_tensor.device.device_type = kDLCPU;
    tensor.dl_tensor.ndim = rank;
    tensor.dl_tensor.dtype = dtype;
    tensor.dl_tensor.shape = dims;
    tensor.deleter = [](DLManagedTensor *) {}; /* the data is this program's */
    return tensor;
}

/* The job is suspended by itself after some instructions. */
Job submit(const Client &client, int64_t rounds, std::array<float, 16> &x) {
    std::array<int64_t, 2> dims{1, 16};
    DLManagedTensor count = make_tensor(&rounds, DLDataType{kDLInt, 64, 1}, nullptr, 0);
    DLManagedTensor begin = make_tensor(x.data(), DLDataType{kDLFloat, 32, 1}, dims.data(), 2);
    const LayoverNamedValue inputs[] = {name("rounds", &count), name("x", &begin)};
    LayoverSubmission submission{};
    LayoverJob *job = nullptr;
    submission.suspend_after = 2000;
    check(layover_client_submit(client.get(), "loop", inputs, 2, &submission, &job));
    return Job(job);
}

std::string wait(const Job &job) {
    const char *state = nullptr;
    check(layover_job_wait(job.get(), 0, 0, &state));
    return state;
}

Outputs read_outputs(const Job &job) {
    LayoverNamedValues *outputs = nullptr;
    check(layover_job_outputs(job.get(), 0, &outputs));
    return Outputs(outputs);
}

void run(const char *file, const char *server) {
    std::array<float, 16> x{};
    for (size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) / 16;
    const Client client = open_client(server);
    register_model(client, file);
    const Job job = submit(client, 1000, x);
    std::printf("job: %s\n", wait(job).c_str());
    check(layover_job_resume(job.get(), nullptr, 0));
    std::printf("job: %s\n", wait(job).c_str());
    const Outputs outputs = read_outputs(job);
    const LayoverNamedValue &y = outputs->items[0];
    const float *data = static_cast<const float *>(y.value.tensor->dl_tensor.data);
    std::printf("%s[0] = %.6f\n", y.name, static_cast<double>(data[0]));
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        std::fprintf(stderr, "usage: submit_job MODEL [SERVER]\n");
        return 1;
    }
    try {
        run(argv[1], argc == 3 ? argv[2] : nullptr);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
