"""Modules: the layers of a network, their parameters and what a model expects of a file."""

from ruda.nn.param_id import ParamId

__all__ = ["ParamId"]
