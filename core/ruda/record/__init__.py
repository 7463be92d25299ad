"""Training state: weights, optimizer tensors and loader position, saved and restored together."""

from ruda.record.plain import Plain
from ruda.record.training import TrainingRecord

__all__ = ["Plain", "TrainingRecord"]
