"""Files of tensors: opening, filtering, remapping, adapting, comparing, loading and saving."""

from ruda.store.collect import collect
from ruda.store.layout import PlannedTensor, PlanProblem
from ruda.store.plan import SavePlan, plan_save
from ruda.store.stores import PytorchStore, RudapackStore, SafetensorsStore, StoreOptions
from ruda.store.writer import SaveResult, save, write

__all__ = [
    "PlanProblem",
    "PlannedTensor",
    "PytorchStore",
    "RudapackStore",
    "SafetensorsStore",
    "SavePlan",
    "SaveResult",
    "StoreOptions",
    "collect",
    "plan_save",
    "save",
    "write",
]
