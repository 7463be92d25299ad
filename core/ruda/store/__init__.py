"""Files of tensors: opening, filtering, remapping, adapting, comparing, loading and saving."""

from ruda.store.layout import PlannedTensor, PlanProblem
from ruda.store.plan import SavePlan, plan_save
from ruda.store.writer import SaveResult, save, write

__all__ = [
    "PlanProblem",
    "PlannedTensor",
    "SavePlan",
    "SaveResult",
    "plan_save",
    "save",
    "write",
]
