"""Arrays of a device that NumPy cannot read, as a stand-in for those of CuPy.

NumPy's functions call those of the device for them (NEP 13 and NEP 18). It has only the functions
of the array API standard: array-api-strict computes them, on a fake device, and raises an error if
arrays of different devices meet. So formulas stay on the device, and need only functions of the
standard; whether CuPy computes them correctly is not shown."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest

xp = pytest.importorskip("array_api_strict")
xp.set_array_api_strict_flags(api_version="2024.12")
DEVICE = xp.Device("device1")
#: Functions of the standard, by the names that they have in NumPy, where these differ.
STANDARD_NAMES = {"absolute": "abs", "power": "pow"}
#: NumPy's functions that are no ufuncs, and may be called with arrays of the device. CuPy has all
#: of them.
FUNCTIONS = {"all", "argmin", "clip", "diff", "empty_like", "full_like", "max"}
FUNCTIONS |= {"ones_like", "shape", "sum", "where", "zeros_like"}
#: Numbers of values that were copied to the device, one for each array, and from it.
copies_to_device, copies_to_host = [], []


def asarray(values):
    """Copy an array of NumPy to the device; an array of the device is returned as it is."""
    if isinstance(values, DeviceArray):
        return values
    copies_to_device.append(values.size)
    return DeviceArray(xp.asarray(values.copy(), device=DEVICE))


def to_host(values):
    """Copy an array of the device to NumPy."""
    copies_to_host.append(values.size)
    return np.array(xp.asarray(values.array, device=xp.Device("CPU_DEVICE")))


class Device:
    """``cupy.cuda.Device``: the current device of a thread in a ``with`` block; device 0 outside of
    all blocks."""

    _local = threading.local()

    def __init__(self, ordinal):
        self.id = ordinal

    @classmethod
    def current(cls):
        return getattr(cls._local, "id", 0)

    def __enter__(self):
        self._before, self._local.id = self.current(), self.id

    def __exit__(self, *_):
        self._local.id = self._before


class DeviceArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of the device, with the part of CuPy's interface that the package uses."""

    def __init__(self, array):
        assert array.device == DEVICE
        self._array, self.device_id = array, Device.current()

    @property
    def array(self):
        # CuPy computes on the current device, and raises an error for arrays of other ones.
        assert self.device_id == Device.current(), (
            "an array is used while another device is the current one"
        )
        return self._array

    dtype = property(
        lambda self: np.dtype(str(self._array.dtype).removeprefix("array_api_strict."))
    )
    shape = property(lambda self: self._array.shape)
    ndim = property(lambda self: self._array.ndim)
    size = property(lambda self: self._array.size)

    @property
    def __cuda_array_interface__(self):
        # The memory is that of the host, since there is no other.
        return {**self._array._array.__array_interface__, "version": 3, "stream": None}

    def __array__(self, *_, **__):
        raise TypeError("an array of the device is converted to NumPy implicitly")

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, dtype=None):
        # CuPy's functions take no `where`.
        assert method == "__call__", (
            f"{ufunc.__name__}.{method} does not exist in CuPy for all functions"
        )
        signature = {} if dtype is None else {"signature": (None,) * ufunc.nin + (np.dtype(dtype),)}
        types = ufunc.resolve_dtypes((*map(_type, inputs), None), casting="same_kind", **signature)
        arguments = [_array(x, kind) for x, kind in zip(inputs, types, strict=False)]
        with np.errstate(
            all="ignore"
        ):  # A GPU does not report operations that are invalid or overflow.
            result = _function(ufunc.__name__)(*arguments)
            if out is None:
                return DeviceArray(result)
            (target,) = out
            result = xp.astype(result, target.array.dtype)
        target.array[...] = result
        return target

    def __array_function__(self, function, types, args, kwargs):
        name = function.__name__
        assert name in FUNCTIONS, f"numpy.{name} is not known to work on the device"
        if name == "shape":
            return self.shape
        if name == "argmin":
            return DeviceArray(
                xp.argmin(xp.astype(args[0].array, xp.int8))
            )  # The standard has no argmin of bool.
        if name in ("where", "clip"):
            condition, values = ((args[0].array,), args[1:]) if name == "where" else ((), args)
            kind = np.result_type(*(x if type(x) in (int, float) else _type(x) for x in values))
            return DeviceArray(_function(name)(*condition, *(_array(x, kind) for x in values)))
        if name == "empty_like":
            args, kwargs = args[:1], {"dtype": args[1]} if len(args) > 1 else kwargs
        kind = kwargs.pop("dtype", None)
        kwargs |= {} if kind is None else {"dtype": _standard(kind)}
        unwrapped = [x.array if isinstance(x, DeviceArray) else x for x in args]
        return DeviceArray(_function(name)(*unwrapped, **kwargs))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        return DeviceArray(self.array[_key(key)])

    def __setitem__(self, key, value):
        self.array[_key(key)] = _array(value, self.dtype)

    def _item(self):
        assert self.size == 1
        return to_host(self).item()

    def __bool__(self):
        return bool(self._item())

    def __float__(self):
        return float(self._item())

    def __int__(self):
        return int(self._item())

    def astype(self, dtype, copy=True):
        return DeviceArray(xp.astype(self.array, _standard(dtype), copy=copy))

    def copy(self):
        return DeviceArray(xp.asarray(self.array, copy=True))

    def all(self):
        return np.all(self)

    def max(self):
        return np.max(self)


def _function(name):
    return getattr(xp, STANDARD_NAMES.get(name, name))


def _standard(dtype):
    return getattr(xp, np.dtype(dtype).name)


def _refuse_host(x):
    if isinstance(x, np.ndarray):
        raise TypeError("an array of the device meets an array of NumPy")


def _type(x):
    """The type of an argument as `np.ufunc.resolve_dtypes` takes it."""
    _refuse_host(x)
    return type(x) if type(x) in (int, float) else x.dtype


def _array(x, dtype):
    """A scalar, or an array of the device, as an array of array-api-strict of this type."""
    if isinstance(x, DeviceArray):
        return xp.astype(x.array, _standard(dtype), copy=False)
    _refuse_host(x)
    return xp.asarray(np.asarray(x).astype(dtype)[()].item(), dtype=_standard(dtype), device=DEVICE)


def _key(key):
    _refuse_host(key)
    return key.array if isinstance(key, DeviceArray) else key


#: The part of the module cupy that the package uses.
CUPY = SimpleNamespace(
    asarray=asarray, asnumpy=to_host, cuda=SimpleNamespace(Device=Device, is_available=lambda: True)
)
