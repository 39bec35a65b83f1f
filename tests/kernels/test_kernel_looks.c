/* Every kernel of the cpu device on shapes that keep it busy for far longer than 50 ms: how much
 * work lies between two looks at the stop, and whether it can be abandoned there and tried again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/registry/device_registry.h"
#include "kernels/tensor/string_tensor.h"
#include "tests/kernels/fixtures/look_counter.h"
#include "tests/support/device_call.h"
#include "tests/support/tensor_text.h"
#include "tests/support/test_support.h"

typedef struct LookCase {
    const char *kernel_name, *device, *operator_name, *attributes, *inputs;
    uint32_t output_count;
    const char *dtype;
    int line;
} LookCase;

#define LOOK(kernel, device, operator_name, attributes, inputs, outputs, dtype)                    \
    {"cpu." #kernel, #device, #operator_name, attributes, inputs, outputs, dtype, __LINE__},
static const LookCase cases[] = {
#include "tests/kernels/kernel_looks.def"
};
#undef LOOK
enum { CASE_COUNT = sizeof cases / sizeof cases[0], PATTERN_ELEMENTS = 1 << 16 };

/* "s[2,3]:100" or "s[2]:100:abc": texts of so many bytes, which repeat the given one. */
static Tensor *make_strings(const char *word) {
    Shape shape = {0};
    char *at = (char *)(uintptr_t)strchr(word, '[');
    while (*at != ']') shape.dims[shape.rank++] = strtoll(at + 1, &at, 10);
    const uint64_t size = strtoull(at + 2, &at, 10);
    const char *pattern = *at == ':' ? at + 1 : "word ";
    const int64_t count = shape_count_unchecked(&shape);
    char *text = malloc(size + 1);
    StringView *views = malloc((size_t)count * sizeof *views);
    assert_non_null(text);
    assert_non_null(views);
    for (uint64_t i = 0; i < size; i++) text[i] = pattern[i % strlen(pattern)];
    for (int64_t i = 0; i < count; i++) views[i] = (StringView){text, size};
    Tensor *tensor = NULL;
    assert_ok(string_tensor_create(&shape, views, &tensor));
    free(text);
    free(views);
    return tensor;
}

/* As tensor_text_make does, but a large tensor repeats its first elements. */
static Tensor *make_tensor(const char *word, DType tested, uint64_t seed) {
    DType dtype;
    Shape shape;
    const char *at = word;
    Tensor *pattern, *tensor = NULL;
    if (word[0] == 's' && word[1] == '[') return make_strings(word);
    tensor_text_type(&at, tested, &dtype, &shape);
    if (*at == '=' || shape_count_unchecked(&shape) <= PATTERN_ELEMENTS) {
        (void)tensor_text_make(word, tested, seed, &tensor);
        return tensor;
    }
    char small[TENSOR_TEXT_WORD_MAX];
    (void)snprintf(
        small, sizeof small, "%.*s[%d]%s", (int)strcspn(word, "["), word, PATTERN_ELEMENTS, at);
    (void)tensor_text_make(small, tested, seed, &pattern);
    assert_ok(tensor_create_on_host(device_host(), dtype, &shape, &tensor));
    const uint64_t step = tensor_bytes(pattern), all = tensor_bytes(tensor);
    for (uint64_t done = 0; done < all; done += step)
        memcpy((char *)tensor_data(tensor) + done, tensor_data(pattern),
            all - done < step ? all - done : step);
    tensor_release(pattern);
    return tensor;
}

/* "!" before the second input: it is a constant, which the device packs. */
static DeviceCall make_call(Device *device, const LookCase *row) {
    DeviceCall call = {.device = device,
        .operator_name = row->operator_name,
        .attributes = row->attributes,
        .output_count = row->output_count,
        .direct = true};
    char word[TENSOR_TEXT_WORD_MAX];
    for (const char *at = row->inputs; tensor_text_word(&at, " ", word);) {
        const bool packs = word[0] == '!';
        if (packs) call.pack = true;
        if (strcmp(word, "-") != 0)
            call.inputs[call.input_count] =
                make_tensor(word + packs, dtype_find(row->dtype), call.input_count + 1);
        call.input_count++;
    }
    return call;
}

static void release(DeviceCall *call) {
    for (uint32_t i = 0; i < call->input_count; i++) tensor_release(call->inputs[i]);
}

/* A stop that is looked at, and asks for nothing until its look number `countdown`. */
static void begin(KernelStop *stop, uint64_t countdown) {
    kernel_stop_init(stop);
    atomic_store(&stop->countdown, countdown);
    atomic_store(&stop->wanted, KERNEL_STOP_COUNTED);
    kernel_stop_scope = (KernelStopScope){.stop = stop, .whole = true, .pauses = true};
    look_counter_begin();
}

static LookCount end(KernelStop *stop) {
    const LookCount count = look_counter_end();
    kernel_stop_scope = (KernelStopScope){0};
    kernel_stop_deinit(stop);
    return count;
}

static Error *run(const DeviceCall *call, uint64_t countdown, const char **out_kernel_name,
    LookCount *out_count, uint64_t *out_hash) {
    KernelStop stop;
    OWN(DeviceRun, opened) = NULL;
    begin(&stop, countdown);
    Error *error = device_run_open(call, &opened);
    if (!error) error = device_run_launch(opened);
    *out_count = end(&stop);
    if (error) return error;
    *out_kernel_name = device_run_get_plan(opened)->kernel_name;
    *out_hash = 0;
    for (uint32_t i = 0; i < call->output_count; i++) {
        uint64_t bytes;
        const uint64_t address = device_run_get_output(opened, i, &bytes);
        if (bytes)
            *out_hash = *out_hash * 31 + digest_xxh3((const void *)(uintptr_t)address, bytes);
    }
    return NULL;
}

/* What a row of the cpu's tables says of itself. */
static const Kernel *find_row(const char *kernel_name, const char *operator_name) {
    static const Kernel *const tables[] = {
#define KERNEL_TABLE(table) table,
#include "kernels/cpu/core/cpu_tables.def"
#undef KERNEL_TABLE
        NULL,
    };
    const OperatorId id = operator_find(operator_name)->id;
    KernelRows rows = {tables, 0};
    const Kernel *row = kernel_rows_next(&rows);
    while (row && (row->operator_id != id || strcmp(row->name, kernel_name) != 0))
        row = kernel_rows_next(&rows);
    return row;
}

static uint32_t count_missing_of(const Kernel *rows) {
    uint32_t missing = 0;
    for (const Kernel *row = rows; row->operator_id != OPERATOR_NONE; row++) {
        const char *operator_name = operator_get(row->operator_id)->name;
        /* an image of channels in order is FusedConv's, with the same code */
        bool found = (row->flags & KERNEL_BANDS) != 0 || row->operator_id == OPERATOR_CONV;
        for (int i = 0; i < CASE_COUNT && !found; i++)
            found = strcmp(cases[i].kernel_name, row->name) == 0 &&
                    strcmp(cases[i].operator_name, operator_name) == 0;
        if (found) continue;
        printf("%s of %s: no case in kernel_looks.def\n", row->name, operator_name);
        missing++;
    }
    return missing;
}

/* Every row of the tables has a case, or says that none can be: its bands are oneDNN's. */
static uint32_t count_missing(void) {
    uint32_t missing = 0;
#define KERNEL_TABLE(table) missing += count_missing_of(table);
#include "kernels/cpu/core/cpu_tables.def"
#undef KERNEL_TABLE
    return missing;
}
/* What is wrong with a case, or NULL. */
static const char *check(const DeviceCall *call, const LookCase *row, char text[256]) {
    const char *name = "";
    LookCount count, left;
    uint64_t hash = 0;
    const Kernel *kernel = find_row(row->kernel_name, row->operator_name);
    const bool is_bounded = kernel && kernel->flags & KERNEL_BOUNDED;
    Error *error = run(call, UINT64_MAX, &name, &count, &hash);
    (void)snprintf(text, 256, "%s: %.2f million blocks, at most %.2f between two of %llu looks",
        error ? error_message(error) : name, (double)count.work / 1e6, (double)count.worst / 1e6,
        (unsigned long long)count.looks);
    const bool failed = error != NULL;
    error_free(error);
    if (failed) return "fails";
    if (strcmp(name, row->kernel_name) != 0) return "is another kernel's";
    if (count.worst > LOOK_WORK_MAX) return "looks too seldom at the stop";
    if (kernel && kernel->flags & KERNEL_BANDS) return NULL;
    if (is_bounded) return NULL;
    if (count.work <= LOOK_WORK_MAX && count.worst > count.work / 4 * 3)
        return "is too short to tell";
    /* At a look after which little more is done. Where bytes that grow are moved, the second run
     * may look less often. */
    error = run(call, count.looks / 4 + 1, &name, &left, &hash);
    const bool abandoned = error_code(error) == ERROR_ABANDONED;
    error_free(error);
    if (!abandoned) return "is not abandoned";
    return left.last > LOOK_WORK_MAX ? "goes on when it is abandoned" : NULL;
}

/* Arguments, for people: the first and the last line of kernel_looks.def, or a kernel's name. */
static bool is_wanted(const LookCase *row, int argc, char **argv) {
    if (argc < 2) return true;
    const long first = strtol(argv[1], NULL, 10);
    const long last = argc > 2 ? strtol(argv[2], NULL, 10) : first;
    if (first > 0) return row->line >= first && row->line <= last;
    return strstr(row->kernel_name, argv[1]) || strstr(row->operator_name, argv[1]);
}

int main(int argc, char **argv) {
    Device *machine, *portable;
    uint32_t failures = count_missing();
    assert_ok(device_open("cpu:threads=1", &machine));
    assert_ok(device_open_portable(&portable));
    for (int i = 0; i < CASE_COUNT; i++) {
        const LookCase *row = &cases[i];
        char text[256];
        if (!is_wanted(row, argc, argv)) continue;
        DeviceCall call = make_call(strcmp(row->device, "portable") == 0 ? portable : machine, row);
        const char *wrong = check(&call, row, text);
        if (wrong) failures++;
        if (wrong || argc > 1)
            printf("kernel_looks.def:%d: %s %s %s (%s)\n", row->line, row->kernel_name,
                row->operator_name, wrong ? wrong : "is right", text);
        (void)fflush(stdout);
        release(&call);
    }
    device_close(machine);
    device_close(portable);
    return failures > 0;
}
