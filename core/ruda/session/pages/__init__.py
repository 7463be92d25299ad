"""Pages: what each screen shows, made by pure functions and frozen.

A panel asks for a page and paints it; whatever needs an ``if`` about tensors is decided here.
"""

from ruda.session.pages.batch import BatchPage, Tile, batch_page
from ruda.session.pages.diff import (
    Banner,
    Chip,
    DiffLine,
    DiffPage,
    Segment,
    diff_lines,
    diff_page,
    headline,
    summary,
)
from ruda.session.pages.inspector import (
    Fact,
    HistogramView,
    InspectorPage,
    ValuesPage,
    inspector_page,
    scan,
    values_page,
)
from ruda.session.pages.query import Query, QueryProblem
from ruda.session.pages.rules import (
    ChangeLine,
    RuleDraft,
    RuleLine,
    RulesPage,
    drafts_of,
    rules_of,
    rules_page,
    wanted_keys,
)
from ruda.session.pages.run import (
    ConfusionView,
    LayerLine,
    RunPage,
    accuracy_text,
    layer_lines,
    run_page,
)
from ruda.session.pages.save import (
    DTypeShare,
    SavedPage,
    SaveLine,
    SavePlanPage,
    cast_text,
    dtype_shares,
    save_plan_page,
    saved_page,
)
from ruda.session.pages.status import LOOKS, PROBLEMS, StatusLook
from ruda.session.pages.tensors import (
    SortKey,
    TensorPage,
    TensorRow,
    TensorTable,
    tensor_page,
    tensor_table,
)

__all__ = [
    "LOOKS",
    "PROBLEMS",
    "Banner",
    "BatchPage",
    "ChangeLine",
    "Chip",
    "ConfusionView",
    "DTypeShare",
    "DiffLine",
    "DiffPage",
    "Fact",
    "HistogramView",
    "InspectorPage",
    "LayerLine",
    "Query",
    "QueryProblem",
    "RuleDraft",
    "RuleLine",
    "RulesPage",
    "RunPage",
    "SaveLine",
    "SavePlanPage",
    "SavedPage",
    "Segment",
    "SortKey",
    "StatusLook",
    "TensorPage",
    "TensorRow",
    "TensorTable",
    "Tile",
    "ValuesPage",
    "accuracy_text",
    "batch_page",
    "cast_text",
    "diff_lines",
    "diff_page",
    "drafts_of",
    "dtype_shares",
    "headline",
    "inspector_page",
    "layer_lines",
    "rules_of",
    "rules_page",
    "run_page",
    "save_plan_page",
    "saved_page",
    "scan",
    "summary",
    "tensor_page",
    "tensor_table",
    "values_page",
    "wanted_keys",
]
