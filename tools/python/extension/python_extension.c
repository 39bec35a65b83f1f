/* The module layover._layover: its types, and the exceptions that C code raises. */
#include "base/allocator.h"
#include "tools/python/extension/python_extension.h"

ExtensionTypes extension;

PyObject *raise_named(const char *code, const char *message) {
    PyObject *exception = PyObject_CallFunction(extension.make_error, "ss", code, message);
    if (!exception) return NULL;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
    return NULL;
}

PyObject *raise_error(LayoverError *owned_error) {
    (void)raise_named(layover_error_code(owned_error), layover_error_message(owned_error));
    layover_error_free(owned_error);
    return NULL;
}

void *extension_alloc(size_t size) {
    void *memory;
    Error *error = memory_alloc(1, size, &memory);
    if (!error) return memory;
    error_free(error);
    return PyErr_NoMemory();
}

/* Sets members of `extension` to attributes of a module. */
static bool load(const char *module_name, const char *const *names, PyObject **const *to) {
    PyObject *module = PyImport_ImportModule(module_name);
    for (size_t i = 0; module && names[i]; i++) {
        *to[i] = PyObject_GetAttrString(module, names[i]);
        if (!*to[i]) Py_CLEAR(module);
    }
    Py_XDECREF(module); /* sys.modules keeps it */
    return module != NULL;
}

bool load_arrays(void) {
    static const char *const names[] = {"to_array", "to_texts", "to_numpy", "asarray", NULL};
    static PyObject **const to[] = {
        &extension.to_array, &extension.to_texts, &extension.to_numpy, &extension.asarray};
    return extension.asarray || load("layover._arrays", names, to);
}

static bool load_values(void) {
    static const char *const errors[] = {"make_error", NULL}, *const values[] = {"Outputs", "Frame",
                                                                  "Register", NULL};
    static PyObject **const to_errors[] = {&extension.make_error};
    static PyObject **const to_values[] = {
        &extension.outputs, &extension.frame, &extension.register_};
    return load("layover._errors", errors, to_errors) && load("layover._values", values, to_values);
}

static bool add_type(
    PyObject *module, const char *name, PyType_Spec *spec, PyTypeObject **out_type) {
    PyObject *type = PyType_FromSpec(spec);
    *out_type = (PyTypeObject *)type;
    if (!type) return false;
    Py_INCREF(type); /* one reference is the module's, one is extension's */
    if (PyModule_AddObject(module, name, type) == 0) return true;
    Py_DECREF(type);
    return false;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "layover._layover",
    .m_doc = "The C part of layover.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__layover(void);
PyMODINIT_FUNC PyInit__layover(void) {
    PyObject *module = PyModule_Create(&definition);
    const bool made = module && load_values() &&
                      add_type(module, "Model", &model_type_spec, &extension.model) &&
                      add_type(module, "Function", &function_type_spec, &extension.function) &&
                      add_type(module, "Run", &run_type_spec, &extension.run) &&
                      add_type(module, "Machine", &machine_type_spec, &extension.machine) &&
                      add_type(module, "Object", &object_type_spec, &extension.object) &&
                      add_type(module, "Home", &home_type_spec, &extension.home) &&
                      add_type(module, "Tensor", &tensor_type_spec, &extension.tensor) &&
                      PyModule_AddStringConstant(module, "version", layover_version()) == 0;
    if (!made) Py_CLEAR(module);
    return module;
}
