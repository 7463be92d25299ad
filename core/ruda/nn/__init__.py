"""Modules: the layers of a network, their parameters and what a model expects of a file."""

from ruda.nn.activation import Gelu, Relu
from ruda.nn.conv import Conv2d, Conv2dConfig
from ruda.nn.dropout import Dropout, DropoutConfig
from ruda.nn.init import Constant, Fans, Initializer, KaimingUniform, Normal, Uniform, derive_seed
from ruda.nn.linear import Linear, LinearConfig
from ruda.nn.module import Module, ParamEntry
from ruda.nn.norm import BatchNorm, BatchNormConfig
from ruda.nn.param import Param
from ruda.nn.param_id import ParamId
from ruda.nn.pooling import MaxPool2d, MaxPool2dConfig
from ruda.nn.prediction import predict
from ruda.nn.profiling import LayerSize, LayerTime, layer_sizes, profile
from ruda.nn.spec import ModuleSpec, ParamSpec

__all__ = [
    "BatchNorm",
    "BatchNormConfig",
    "Constant",
    "Conv2d",
    "Conv2dConfig",
    "Dropout",
    "DropoutConfig",
    "Fans",
    "Gelu",
    "Initializer",
    "KaimingUniform",
    "LayerSize",
    "LayerTime",
    "Linear",
    "LinearConfig",
    "MaxPool2d",
    "MaxPool2dConfig",
    "Module",
    "ModuleSpec",
    "Normal",
    "Param",
    "ParamEntry",
    "ParamId",
    "ParamSpec",
    "Relu",
    "Uniform",
    "derive_seed",
    "layer_sizes",
    "predict",
    "profile",
]
