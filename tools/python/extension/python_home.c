/* The base of layover.Home: the functions of layover.h for homes. Their answers are texts of JSON,
 * which layover/home.py reads. */
#include "tools/python/extension/python_extension.h"

typedef struct HomeObject {
    PyObject_HEAD LayoverHome *home;
} HomeObject;

LayoverHome *home_get(PyObject *object) { return SELF(HomeObject, object)->home; }

static void dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    layover_home_close(SELF(HomeObject, object)->home);
    release(object);
    Py_DECREF(type);
}

/* The text of a path, or NULL for None. *out_owned keeps it. */
static bool path_text(PyObject *path, PyObject **out_owned, const char **out_text) {
    *out_owned = NULL;
    *out_text = NULL;
    if (!path || path == Py_None) return true;
    if (!PyUnicode_FSConverter(path, out_owned)) return false;
    *out_text = PyBytes_AsString(*out_owned);
    return true;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static const char *const names[] = {"path", "tenant", NULL};
    PyObject *path = NULL, *owned;
    const char *tenant = NULL, *text;
    LayoverHome *home;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|Oz:Home", (char **)(uintptr_t)names, &path, &tenant) ||
        !path_text(path, &owned, &text))
        return NULL;
    LayoverError *error = layover_home_open(text, tenant, &home);
    Py_XDECREF(owned);
    if (error) return raise_error(error);
    allocfunc make_object = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *object = make_object(type, 0);
    if (object)
        SELF(HomeObject, object)->home = home;
    else
        layover_home_close(home);
    return object;
}

static PyObject *answer(LayoverError *error, LayoverValue *value) {
    return error ? raise_error(error) : output_give(value);
}

/* Calls a function of layover.h without the interpreter lock, and returns its answer. */
#define ASK(call)                                                                                  \
    LayoverValue value;                                                                            \
    LayoverError *error;                                                                           \
    Py_BEGIN_ALLOW_THREADS;                                                                        \
    error = (call);                                                                                \
    Py_END_ALLOW_THREADS;                                                                          \
    return answer(error, &value)

static PyObject *models(PyObject *object, PyObject *none) {
    (void)none;
    LayoverHome *home = home_get(object);
    ASK(layover_home_models(home, &value));
}

static PyObject *gc(PyObject *object, PyObject *none) {
    (void)none;
    LayoverHome *home = home_get(object);
    ASK(layover_home_gc(home, &value));
}

static PyObject *show(PyObject *object, PyObject *args) {
    LayoverHome *home = home_get(object);
    const char *reference;
    if (!PyArg_ParseTuple(args, "s:show", &reference)) return NULL;
    ASK(layover_home_show(home, reference, &value));
}

static PyObject *rm(PyObject *object, PyObject *args) {
    LayoverHome *home = home_get(object);
    const char *reference;
    if (!PyArg_ParseTuple(args, "s:rm", &reference)) return NULL;
    ASK(layover_home_remove(home, reference, &value));
}

static PyObject *disasm(PyObject *object, PyObject *args) {
    LayoverHome *home = home_get(object);
    const char *reference;
    int with_data;
    if (!PyArg_ParseTuple(args, "sp:disasm", &reference, &with_data)) return NULL;
    ASK(layover_home_disasm(home, reference, with_data, &value));
}

static PyObject *alias(PyObject *object, PyObject *args) {
    LayoverHome *home = home_get(object);
    const char *name, *given;
    long long version;
    if (!PyArg_ParseTuple(args, "ssL:alias", &name, &given, &version)) return NULL;
    ASK(layover_home_alias(home, name, given, version, &value));
}

static PyObject *export_path(LayoverHome *home, const char *reference, const char *path) {
    ASK(layover_home_export(home, reference, path, &value));
}

static PyObject *export(PyObject *object, PyObject *args) {
    const char *reference;
    PyObject *path;
    if (!PyArg_ParseTuple(args, "sO&:export", &reference, PyUnicode_FSConverter, &path))
        return NULL;
    PyObject *given = export_path(home_get(object), reference, PyBytes_AsString(path));
    Py_DECREF(path);
    return given;
}

static PyObject *check_with(LayoverHome *home, int repair, const char *copy) {
    ASK(layover_home_fsck(home, repair, copy, &value));
}

static PyObject *fsck(PyObject *object, PyObject *args) {
    int repair;
    PyObject *path, *owned;
    const char *text;
    if (!PyArg_ParseTuple(args, "pO:fsck", &repair, &path) || !path_text(path, &owned, &text))
        return NULL;
    PyObject *given = check_with(home_get(object), repair, text);
    Py_XDECREF(owned);
    return given;
}

/* The texts of a tuple of str. owned: a tuple that keeps them; both are NULL after an error. */
static const char **take_names(PyObject *names, PyObject **out_owned) {
    const Py_ssize_t count = PyTuple_Size(names);
    const char **texts = count < 0 ? NULL : PyMem_Malloc(((size_t)count + 1) * sizeof *texts);
    *out_owned = texts ? PyTuple_New(count) : NULL;
    for (Py_ssize_t i = 0; *out_owned && i < count; i++) {
        PyObject *bytes = PyUnicode_AsUTF8String(PyTuple_GetItem(names, i));
        if (bytes) texts[i] = PyBytes_AsString(bytes);
        if (!bytes || PyTuple_SetItem(*out_owned, i, bytes) < 0) Py_CLEAR(*out_owned);
    }
    if (*out_owned) return texts;
    PyMem_Free(texts);
    return NULL;
}

static PyObject *register_with(LayoverHome *home, const char *name, const char *file,
    const LayoverRegistration *registration) {
    ASK(layover_home_register(home, name, file, registration, &value));
}

static PyObject *register_model(PyObject *object, PyObject *args) {
    const char *name;
    LayoverRegistration wanted = {0};
    PyObject *path, *aliases, *params, *library, *texts, *kept[2] = {NULL, NULL}, *given = NULL;
    if (!PyArg_ParseTuple(args, "sO&O!zzOOpp:register", &name, PyUnicode_FSConverter, &path,
            &PyTuple_Type, &aliases, &wanted.format, &wanted.precision, &params, &library,
            &wanted.follow_links, &wanted.no_prepare))
        return NULL;
    const char **names = take_names(aliases, &texts);
    if (names && path_text(params, &kept[0], &wanted.params) &&
        path_text(library, &kept[1], &wanted.library)) {
        wanted.aliases = names;
        wanted.alias_count = (uint32_t)PyTuple_Size(aliases);
        given = register_with(home_get(object), name, PyBytes_AsString(path), &wanted);
    }
    Py_XDECREF(kept[0]);
    Py_XDECREF(kept[1]);
    Py_XDECREF(texts);
    PyMem_Free(names);
    Py_DECREF(path);
    return given;
}

static PyObject *get_path(PyObject *object, void *closure) {
    (void)closure;
    return PyUnicode_DecodeFSDefault(layover_home_path(home_get(object)));
}

static PyMethodDef methods[] = {
    {"models", models, METH_NOARGS, NULL},
    {"show", show, METH_VARARGS, NULL},
    {"register", register_model, METH_VARARGS, NULL},
    {"rm", rm, METH_VARARGS, NULL},
    {"alias", alias, METH_VARARGS, NULL},
    {"export", export, METH_VARARGS, NULL},
    {"disasm", disasm, METH_VARARGS, NULL},
    {"fsck", fsck, METH_VARARGS, NULL},
    {"gc", gc, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
    {"path", get_path, NULL, "The home's folder.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

PyType_Spec home_type_spec = {
    .name = "layover._layover.Home",
    .basicsize = sizeof(HomeObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = slots,
};
