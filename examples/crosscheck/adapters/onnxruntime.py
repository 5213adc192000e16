"""onnxruntime on the CPU: each question a model of one operator of ONNX."""

from functools import cache

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from examples.crosscheck import Kernel

VERSION = onnxruntime.__version__
DTYPES = ("float64", "float32", "float16")
TYPES = {"float64": TensorProto.DOUBLE, "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}
OPSET = 18


@cache
def session(operator, dtype, inputs, attributes):
    kinds = [(name, TensorProto.INT64 if whole else TYPES[dtype]) for name, whole in inputs]
    given = [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds]
    out = helper.make_tensor_value_info("out", TYPES[dtype], None)
    node = helper.make_node(operator, [name for name, _ in inputs], ["out"], **dict(attributes))
    graph = helper.make_graph([node], operator, given, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(operator, dtype, arrays, **attributes):
    inputs = tuple((name, array.dtype == np.int64) for name, array in arrays.items())
    return session(operator, dtype, inputs, tuple(attributes.items())).run(None, arrays)[0]


def loss(rows, targets, dtype, *, reduction="none", weight=None, ignore_index=-100):
    arrays = {"x": np.asarray(rows, dtype=dtype), "y": np.asarray(targets, dtype=np.int64)}
    if weight is not None:
        arrays["w"] = np.asarray(weight, dtype=dtype)
    return run("SoftmaxCrossEntropyLoss", dtype, arrays, reduction=reduction, ignore_index=ignore_index)


def of_rows(operator, **attributes):
    return lambda rows, dtype: run(operator, dtype, {"x": np.asarray(rows, dtype=dtype)}, **attributes)


def logsumexp(rows, dtype):
    arrays = {"x": np.asarray(rows, dtype=dtype), "axes": np.asarray([-1], dtype=np.int64)}
    return run("ReduceLogSumExp", dtype, arrays, keepdims=0)


KERNELS = [
    Kernel("log_softmax", "LogSoftmax", of_rows("LogSoftmax", axis=-1)),
    Kernel("softmax", "Softmax", of_rows("Softmax", axis=-1)),
    Kernel("logsumexp", "ReduceLogSumExp", logsumexp),
    Kernel("loss", "SoftmaxCrossEntropyLoss", loss, ("reduction", "weight", "ignore_index")),
]
