/* An empty Python module, so that installers build the library like any other extension. Python calls its functions with
   ctypes, which releases the lock of the interpreter. */
#define Py_LIMITED_API 0x030b0000 /* One library for Python 3.11 and all later versions. */
#include <Python.h>

#include "kernels.h"

/* Increase it with every change of a function's arguments, here and in library.py. */
#define INTERFACE 6

EXPORT int64_t boostrank_interface(void)
{
    return INTERFACE;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "boostrank.kernels._kernels", NULL, -1, NULL};

PyMODINIT_FUNC PyInit__kernels(void)
{
    return PyModule_Create(&definition);
}
