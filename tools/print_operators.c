/* Prints docs/operators.md: what operators.def and the devices' kernel tables say. */
#include <stdio.h>
#include <string.h>

#include "kernels/device.h"
#include "kernels/kernel.h"
#include "kernels/operator.h"

enum { DEVICES_MAX = 8 };

static void print_count(uint32_t min, uint32_t max) {
    if (max == UINT32_MAX)
        printf("%u or more", min);
    else if (min == max)
        printf("%u", min);
    else
        printf("%u to %u", min, max);
}

static void print_shape_kind(const OperatorInfo *info) {
    if (info->shape_from_data) printf("data");
    if (!info->shape_from_data && info->value_inputs == 0) printf("shapes");
    if (info->value_inputs == 0) return;
    printf("values of");
    for (uint32_t i = 0; i < 64; i++)
        if (info->value_inputs >> i & 1) printf(" %u", i);
}

static void print_attributes(const char *attributes) {
    if (!attributes[0]) return;
    printf("`");
    for (const char *c = attributes; *c; c++) {
        if (*c == ' ')
            printf("` `");
        else
            putchar(*c);
    }
    printf("`");
}

static void print_operator(const OperatorInfo *info) {
    printf("| %s | %u | ", info->name, info->version);
    print_count(info->inputs_min, info->inputs_max);
    printf(" | ");
    print_count(info->outputs_min, info->outputs_max);
    printf(" | ");
    print_attributes(info->attributes);
    printf(" | ");
    print_shape_kind(info);
    printf(" | %s | %g | %s |\n", info->in_place, info->tolerance,
        info->purity == PURITY_RANDOM ? "random" : info->expansion);
}

/* Element types that some row of the device takes, and those of portable rows. */
static void collect(Device *device, OperatorId id, DTypeSet *out_all, DTypeSet *out_portable) {
    *out_all = *out_portable = 0;
    const Kernel *const *tables = device->class_->kernels(device);
    for (; *tables; tables++)
        for (const Kernel *row = *tables; row->operator_id != OPERATOR_NONE; row++) {
            if (row->operator_id != id) continue;
            *out_all |= row->dtypes;
            if (row->flags & KERNEL_PORTABLE) *out_portable |= row->dtypes;
        }
}

/* "numbers bool": named sets first, then what is left; a star where all of it is portable. */
static bool print_dtypes(DTypeSet all, DTypeSet portable) {
    static const struct {
        const char *name;
        DTypeSet set;
    } sets[] = {{"every type", DTYPES_ANY}, {"numbers", DTYPES_NUMBER}, {"floats", DTYPES_FLOAT},
        {"integers", DTYPES_INTEGER}};
    const char *separator = "";
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        if ((all & sets[i].set) != sets[i].set) continue;
        bool star = (portable & sets[i].set) == sets[i].set;
        printf("%s%s%s", separator, sets[i].name, star ? "\\*" : "");
        separator = ", ";
        all &= ~sets[i].set;
    }
    for (uint32_t i = 1; i < DTYPE_COUNT; i++) {
        if (!(all >> i & 1)) continue;
        printf("%s%s%s", separator, dtype_name((DType)i), portable >> i & 1 ? "\\*" : "");
        separator = ", ";
    }
    return separator[0] != 0;
}

static void print_support(Device *device, const OperatorInfo *info) {
    DTypeSet all, portable;
    collect(device, info->id, &all, &portable);
    bool view = strcmp(info->in_place, "view") == 0;
    if (view) printf("every type, nothing to run");
    if (view && all) printf("; with a mask: ");
    bool any = print_dtypes(all, portable) || view;
    if (info->expansion[0])
        printf("%s", any ? "; others as plain operators" : "as plain operators");
    else if (!any)
        printf("-");
}

static void print_matrix(Device *const *devices, uint32_t count) {
    printf("\n## Element types by device\n\n"
           "Of the leading input. numbers: floats and integers; floats: float64, float32, float16, "
           "bfloat16; integers: of 8 bits and more.\n\\* the same bits on every machine: constants "
           "may be folded with "
           "it.\n\n| operator |");
    for (uint32_t i = 0; i < count; i++) printf(" %s |", devices[i]->class_->kind);
    printf("\n| --- |");
    for (uint32_t i = 0; i < count; i++) printf(" --- |");
    printf("\n");
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) {
        const OperatorInfo *info = operator_get((OperatorId)id);
        printf("| %s |", info->name);
        for (uint32_t i = 0; i < count; i++) {
            printf(" ");
            print_support(devices[i], info);
            printf(" |");
        }
        printf("\n");
    }
}

static Error *open_all(Device **out_devices, uint32_t *out_count) {
    const DeviceClass *const *classes = device_classes();
    for (; *classes && *out_count < DEVICES_MAX; classes++)
        if ((*classes)->kernels) TRY(device_open((*classes)->kind, &out_devices[(*out_count)++]));
    return NULL;
}

int main(void) {
    Device *devices[DEVICES_MAX] = {NULL};
    uint32_t count = 0;
    Error *error = open_all(devices, &count);
    if (error) {
        (void)fprintf(stderr, "print_operators: %s\n", error_message(error));
        error_free(error);
        return 1;
    }
    printf("# Operators\n\nGenerated by tools/print_operators.c from kernels/operators.def and the "
           "devices' kernel tables; a test compares.\nNames and semantics are ONNX's; `version` is "
           "the opset whose semantics are implemented. Attributes: `name:kind`, then `=default` or "
           "`?` for\noptional (kernels/attributes.h). *Shape from*: what the outputs' shapes are "
           "computed from. *In place*: `0<1` says that output 0 may be written over input 1.\n"
           "*Tolerance*: the relative difference allowed between determinism classes; 0: the same "
           "bits everywhere.\n\n"
           "| operator | version | inputs | outputs | attributes | shape from | in place | "
           "tolerance | stands for |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (uint32_t id = 1; id < OPERATOR_COUNT; id++) print_operator(operator_get((OperatorId)id));
    print_matrix(devices, count);
    for (uint32_t i = 0; i < count; i++) device_close(devices[i]);
    return 0;
}
