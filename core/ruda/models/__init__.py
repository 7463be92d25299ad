"""The registry of architectures that weights can be loaded into and run."""

from ruda.models.architecture import Architecture, InputSpec, Setting
from ruda.models.registry import architectures, get

__all__ = ["Architecture", "InputSpec", "Setting", "architectures", "get"]
