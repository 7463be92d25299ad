"""The registry of architectures that weights can be loaded into and run."""

from typing import TYPE_CHECKING

from ruda._doors import lazy_door

if TYPE_CHECKING:
    from ruda.models.architecture import Architecture, InputSpec, Setting
    from ruda.models.recognition import Proposal, config_beside, proposals
    from ruda.models.registry import architectures, get

__all__ = [
    "Architecture",
    "InputSpec",
    "Proposal",
    "Setting",
    "architectures",
    "config_beside",
    "get",
    "proposals",
]

__getattr__, __dir__ = lazy_door(
    globals(),
    {
        "architecture": (
            "Architecture",
            "InputSpec",
            "Setting",
        ),
        "recognition": (
            "Proposal",
            "config_beside",
            "proposals",
        ),
        "registry": (
            "architectures",
            "get",
        ),
    },
)
