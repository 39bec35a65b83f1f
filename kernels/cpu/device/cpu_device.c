#include "kernels/cpu/device/cpu_device.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/allocator.h"
#include "kernels/cpu/dnnl/cpu_dnnl_library.h"
#include "kernels/cpu/core/cpu_internal.h"
#include "kernels/cpu/core/cpu_isa.h"
#include "kernels/cpu/device/cpu_pack.h"
#include "kernels/device/device_options.h"
#include "kernels/operator/kernel_table.h"
#include "kernels/planning/expansion_plan.h"
#include "kernels/device/host_memory.h"

extern const DeviceClass cpu_device_class;

static const Kernel *const tables[] = {
#define KERNEL_TABLE(table) table,
#include "kernels/cpu/core/cpu_tables.def"
#undef KERNEL_TABLE
    NULL,
};

static const Kernel *const *kernels(Device *device) {
    (void)device;
    return tables;
}

static uint32_t processor_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > CPU_THREADS_MAX ? CPU_THREADS_MAX : (uint32_t)count;
}

static void close_device(Device *base) {
    CpuDevice *device = cpu_device(base);
    cpu_workers_release(device->workers);
    pthread_mutex_destroy(&device->shared_mutex);
    memory_free(device);
}

static Error *open_cpu(bool portable_only, CpuDevice **out) {
    void *block;
    TRY(memory_alloc(1, sizeof(CpuDevice), &block));
    CpuDevice *device = block;
    pthread_mutex_init(&device->shared_mutex, NULL);
    device->base.class_ = &cpu_device_class;
    (void)snprintf(device->base.name, sizeof device->base.name, "cpu");
    device->portable_only = portable_only;
    device->threads_max = portable_only ? 1 : processor_count();
    OWN(Device, owned) = &device->base;
    const CpuIsa isa = portable_only ? (CpuIsa){0} : cpu_isa_get();
    device->level = isa.level;
    device->has_vnni = isa.has_vnni;
    device->has_bfloat16 = isa.has_bfloat16;
    device->rules = cpu_rules_of(device->level);
    if (!portable_only) TRY(cpu_workers_create(&device->workers));
    (void)TAKE(owned);
    *out = device;
    return NULL;
}

static Error *read_options(const char *options, uint64_t *inout_threads) {
    bool found;
    DeviceOption option;
    for (;;) {
        TRY(device_option_next(&options, &option, &found));
        if (!found) return NULL;
        if (strcmp(option.name, "threads") != 0)
            FAIL(USAGE, "cpu has no option \"%s\"; there is: threads", option.name);
        TRY(device_option_count(&option, 1, CPU_THREADS_MAX, inout_threads));
    }
}

static Error *open_device(const char *kind, uint32_t index, const char *options, Device **out) {
    (void)kind;
    if (index != 0) FAIL(USAGE, "there is one cpu device, of index 0");
    uint64_t threads = processor_count();
    TRY(read_options(options, &threads));
    CpuDevice *device;
    TRY(open_cpu(false, &device));
    device->threads_max = (uint32_t)threads;
    *out = &device->base;
    return NULL;
}

Error *cpu_device_open(Device **out) { return open_device("cpu", 0, "", out); }

Error *cpu_device_open_portable(Device **out) {
    CpuDevice *device;
    TRY(open_cpu(true, &device));
    *out = &device->base;
    return NULL;
}

CpuLevel cpu_device_get_level(const Device *device) { return ((const CpuDevice *)device)->level; }

void cpu_device_force_rule(Device *device, CpuRule rule, int64_t value) {
    CpuRules *rules = &cpu_device(device)->rules;
    rules->values[rule] = value;
    rules->forced = true;
}

static Error *unsupported(const Device *device, const PlanRequest *request) {
    TextBuilder OWN_TEXT(dtypes) = {0};
    for (uint32_t i = 0; i < request->input_count; i++)
        text_appendf(&dtypes, "%s%s", i ? ", " : "",
            request->inputs[i].present ? dtype_name(request->inputs[i].dtype) : "-");
    FAIL(UNSUPPORTED, "%s: no kernel for %s(%s)", device->name, request->operator_info->name,
        text_builder_get(&dtypes));
}

static Error *plan(Device *base, const PlanRequest *request, Plan **out) {
    Plan *made = NULL;
    if (strcmp(request->operator_info->in_place, "view") == 0 && request->output_count == 1)
        return plan_create_view(base, request, out);
    const uint32_t flags = cpu_device(base)->portable_only ? KERNEL_PORTABLE : 0;
    TRY(kernel_rows_plan(base, tables, flags, request, &made));
    if (!made && request->operator_info->expansion[0])
        TRY(expansion_plan_create(base, request, &made));
    if (!made) return unsupported(base, request);
    *out = made;
    return NULL;
}

/* "AMD EPYC 9R45" and the like: oneDNN chooses block sizes by the processor's caches. */
static void append_model(TextBuilder *out) {
    char line[256], model[128] = "unknown";
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "model name : %127[^\n]", model) == 1) break;
    if (file) (void)fclose(file);
    text_append(out, model);
}

static void determinism_class(Device *base, TextBuilder *out) {
    static const char *const levels[] = {"portable", "avx2", "avx512"};
    const CpuDevice *device = cpu_device(base);
    text_appendf(out, "cpu; kernels %d; ", CPU_KERNELS_VERSION);
    if (device->portable_only) {
        text_append(out, "portable only");
        return;
    }
    text_appendf(out, "rules %d%s; ", CPU_RULES_VERSION, device->rules.forced ? " forced" : "");
    append_model(out);
    char libc[64] = "libc unknown";
    (void)confstr(_CS_GNU_LIBC_VERSION, libc, sizeof libc);
    text_appendf(out, "; %s%s%s; ", levels[device->level], device->has_vnni ? " vnni" : "",
        device->has_bfloat16 ? " bf16" : "");
    cpu_dnnl_library_print(out);
    text_appendf(out, "; %s", libc);
}

const DeviceClass cpu_device_class = {
    .abi_version = DEVICE_ABI_VERSION,
    .kind = "cpu",
    .open = open_device,
    .close = close_device,
    .memory = host_memory_info,
    .alloc = host_memory_alloc,
    .free = host_memory_free,
    .copy_from_host = host_memory_copy_from_host,
    .copy_to_host = host_memory_copy_to_host,
    .copy = host_memory_copy,
    .plan = plan,
    .pack_rule = cpu_pack_rule,
    .pack = cpu_pack,
    .kernels = kernels,
    .host_memory = true,
    .determinism_class = determinism_class,
};
