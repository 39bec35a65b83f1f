#include "kernels/native/native_machine.h"

#include <string.h>

#include "base/allocator.h"
#include "kernels/native/native_runtime.h"

enum { DEVICE_CPU = 1, MEMORY_WITHOUT_POOL = 1 }; /* numbers of TVM's interface */

struct NativeMachine {
    AbiAny module; /* TVM's machine */
    char *name;    /* of the last function that was found; NULL: none */
    AbiObject *function;
};

static AbiAny text(const char *data) { return (AbiAny){.type = ABI_TEXT, .text = data}; }

/* Gives a member function of a module or of those that it imports. */
static Error *get_member(const AbiAny *module, const char *name, AbiObject **out) {
    AbiAny found;
    const AbiAny arguments[] = {*module, text(name), {.type = ABI_BOOL, .integer = 1}};
    TRY(native_runtime_call_global("ffi.ModuleGetFunction", arguments, 3, &found));
    if (found.type != ABI_FUNCTION) {
        native_runtime_release_any(&found);
        FAIL(NOT_FOUND, "the library's executable has no function %s", name);
    }
    *out = found.object;
    return NULL;
}

static Error *call_member(
    const AbiAny *module, const char *name, const AbiAny *arguments, uint32_t count, AbiAny *out) {
    AbiObject *function;
    TRY(get_member(module, name, &function));
    Error *error = native_runtime_call(function, arguments, count, out);
    native_runtime_release(function);
    return error;
}

/* The library is open already: TVM's runtime gets the same one and makes its modules. */
static Error *load_module(NativeLoaded *loaded, AbiAny *out) {
    const AbiAny arguments[] = {text(native_loader_path(loaded)), text("so")};
    return native_runtime_call_global("ffi.Module.load_from_file.so", arguments, 2, out);
}

static Error *make_machine(const AbiAny *library, NativeMachine *machine) {
    AbiAny nothing;
    const AbiAny places[] = {{.type = ABI_INT, .integer = DEVICE_CPU}, {.type = ABI_INT},
        {.type = ABI_INT, .integer = MEMORY_WITHOUT_POOL}};
    TRY(call_member(library, "vm_load_executable", NULL, 0, &machine->module));
    TRY(call_member(&machine->module, "vm_initialization", places, 3, &nothing));
    native_runtime_release_any(&nothing);
    return NULL;
}

Error *native_machine_create(NativeLoaded *loaded, NativeMachine **out) {
    void *memory;
    AbiAny library;
    TRY(memory_alloc(1, sizeof(NativeMachine), &memory));
    OWN(NativeMachine, machine) = memory;
    TRY(load_module(loaded, &library));
    Error *error = native_loader_fill(loaded); /* TVM's runtime has put its own functions there */
    if (!error) error = make_machine(&library, machine);
    native_runtime_release_any(&library);
    TRY(error);
    *out = TAKE(machine);
    return NULL;
}

void native_machine_release(NativeMachine *machine) {
    if (!machine) return;
    native_runtime_release(machine->function);
    native_runtime_release_any(&machine->module);
    memory_free(machine->name);
    memory_free(machine);
}

Error *native_machine_find(NativeMachine *machine, const char *name, AbiObject **out_function) {
    char *copy;
    AbiObject *function;
    if (!machine->name || strcmp(machine->name, name) != 0) {
        const char *inner = name + strlen(NATIVE_MACHINE_PREFIX);
        TRY(get_member(&machine->module, inner, &function));
        Error *error = memory_copy_text(name, &copy);
        if (error) {
            native_runtime_release(function);
            return error;
        }
        native_runtime_release(machine->function);
        memory_free(machine->name);
        machine->function = function;
        machine->name = copy;
    }
    *out_function = machine->function;
    return NULL;
}
