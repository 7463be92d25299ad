"""Modules: the layers of a network, their parameters and what a model expects of a file."""

from ruda.nn.activation import Gelu, PRelu, PReluConfig, Relu
from ruda.nn.conv import Conv1d, Conv1dConfig, Conv2d, Conv2dConfig
from ruda.nn.dropout import Dropout, DropoutConfig
from ruda.nn.embedding import Embedding, EmbeddingConfig
from ruda.nn.init import Constant, Fans, Initializer, KaimingUniform, Normal, Uniform, derive_seed
from ruda.nn.linear import Linear, LinearConfig
from ruda.nn.module import Module, ParamEntry
from ruda.nn.norm import (
    BatchNorm,
    BatchNormConfig,
    GroupNorm,
    GroupNormConfig,
    InstanceNorm,
    InstanceNormConfig,
    LayerNorm,
    LayerNormConfig,
    RmsNorm,
    RmsNormConfig,
)
from ruda.nn.param import Param
from ruda.nn.param_id import ParamId
from ruda.nn.pooling import (
    AdaptiveAvgPool2d,
    AdaptiveAvgPool2dConfig,
    AvgPool2d,
    AvgPool2dConfig,
    MaxPool2d,
    MaxPool2dConfig,
)
from ruda.nn.prediction import predict
from ruda.nn.profiling import LayerSize, LayerTime, layer_sizes, profile
from ruda.nn.spec import ModuleSpec, ParamSpec

__all__ = [
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool2dConfig",
    "AvgPool2d",
    "AvgPool2dConfig",
    "BatchNorm",
    "BatchNormConfig",
    "Constant",
    "Conv1d",
    "Conv1dConfig",
    "Conv2d",
    "Conv2dConfig",
    "Dropout",
    "DropoutConfig",
    "Embedding",
    "EmbeddingConfig",
    "Fans",
    "Gelu",
    "GroupNorm",
    "GroupNormConfig",
    "Initializer",
    "InstanceNorm",
    "InstanceNormConfig",
    "KaimingUniform",
    "LayerNorm",
    "LayerNormConfig",
    "LayerSize",
    "LayerTime",
    "Linear",
    "LinearConfig",
    "MaxPool2d",
    "MaxPool2dConfig",
    "Module",
    "ModuleSpec",
    "Normal",
    "PRelu",
    "PReluConfig",
    "Param",
    "ParamEntry",
    "ParamId",
    "ParamSpec",
    "Relu",
    "RmsNorm",
    "RmsNormConfig",
    "Uniform",
    "derive_seed",
    "layer_sizes",
    "predict",
    "profile",
]
