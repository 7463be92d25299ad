"""Files of tensors: opening, filtering, remapping, adapting, comparing, loading and saving."""

from typing import TYPE_CHECKING

from ruda._doors import lazy_door

if TYPE_CHECKING:
    from ruda.store._sibling import replace_file
    from ruda.store.adapt import (
        ChainAdapter,
        IdentityAdapter,
        ModuleAdapter,
        PyTorchToRuda,
        RudaToPyTorch,
        adapter_names,
    )
    from ruda.store.adapted import read_with_counts
    from ruda.store.aliases import Aliases, alias_groups
    from ruda.store.apply_result import ApplyIssue, ApplyResult, MissingParam
    from ruda.store.applying import apply
    from ruda.store.arch_file import (
        arch_from_json,
        arch_from_toml,
        arch_to_json,
        arch_to_toml,
        is_arch_file,
        read_arch,
        write_arch,
    )
    from ruda.store.bytefile import ByteFile
    from ruda.store.cast_report import (
        CastErrors,
        ConversionReport,
        ConversionRow,
        conversion_report,
        describe,
        lost_values,
    )
    from ruda.store.castable import cast_target
    from ruda.store.check_report import RULES, CheckReport, Finding, Severity, to_sarif
    from ruda.store.checking import check
    from ruda.store.collecting import collect
    from ruda.store.compare_report import CompareReport, CompareRow, Likeness, position_of
    from ruda.store.comparing import compare
    from ruda.store.containers import Inference, infer_containers
    from ruda.store.converting import convert
    from ruda.store.decision_file import with_absolute_files
    from ruda.store.decisions import (
        Action,
        Change,
        Decision,
        Pad,
        Reshape,
        Slice,
        Take,
        Transpose,
    )
    from ruda.store.dequantizing import dequantize
    from ruda.store.diff_match import alternative_key, alternative_keys
    from ruda.store.diff_report import Coverage, DiffReport, Family, Hint
    from ruda.store.diff_rows import Cause, DiffRow, Flag, Nearest, Status, fold, fold_all
    from ruda.store.diffing import diff
    from ruda.store.export_compare import (
        compare_to_csv,
        compare_to_html,
        compare_to_json,
        compare_to_markdown,
        write_comparison,
    )
    from ruda.store.export_diff import (
        diff_to_csv,
        diff_to_html,
        diff_to_json,
        diff_to_markdown,
        write_diff,
    )
    from ruda.store.filerange import FileRange
    from ruda.store.format import ModelFormat
    from ruda.store.half import HALF_MODULES, FloatCastAdapter, HalfPrecisionAdapter
    from ruda.store.index import TensorIndex, TreeNode
    from ruda.store.layout import PlannedTensor, PlanProblem
    from ruda.store.merging import MERGES
    from ruda.store.metadata_edit import MetadataEdit, edit_metadata
    from ruda.store.named_predicates import predicate_named, predicate_names, register_predicate
    from ruda.store.naming import recognised
    from ruda.store.opening import available_formats, format_suffixes, format_title, open_store
    from ruda.store.piecewise import blocks
    from ruda.store.plan import SavePlan, plan_save
    from ruda.store.ready_made import Preset, preset_named, presets
    from ruda.store.recipe import CastPolicy, CastScope, DTypePolicy, Recipe
    from ruda.store.recipe_file import (
        read_recipe,
        recipe_from_json,
        recipe_from_toml,
        recipe_to_json,
        recipe_to_toml,
        write_recipe,
    )
    from ruda.store.remap import (
        Collision,
        KeyChange,
        KeyRemapper,
        RemapPlan,
        RemapRule,
        compact_indices,
    )
    from ruda.store.report_pages import require_report_name
    from ruda.store.row_list import RowList, RowsAt
    from ruda.store.same_values import values_mark
    from ruda.store.select import PathFilter
    from ruda.store.sharding import parse_size
    from ruda.store.shares import share_text
    from ruda.store.snapshot import ArraySource, Origin, TensorSnapshot, TensorSource
    from ruda.store.special import Gpt2ToRuda, RopeOrder, RudaToGpt2, TiedHead
    from ruda.store.stamp import Stamp, is_same_file
    from ruda.store.stores import PytorchStore, RudapackStore, SafetensorsStore, StoreOptions
    from ruda.store.suggest_report import Suggestion, SuggestKind, SuggestReport, Verdict
    from ruda.store.suggesting import suggest
    from ruda.store.targets import Expected, Target, expected_of
    from ruda.store.uri import target_of
    from ruda.store.writer import SaveResult, save, write

__all__ = [
    "Action",
    "Aliases",
    "ApplyIssue",
    "ApplyResult",
    "ArraySource",
    "ByteFile",
    "CastErrors",
    "CastPolicy",
    "CastScope",
    "Cause",
    "ChainAdapter",
    "Change",
    "CheckReport",
    "Collision",
    "CompareReport",
    "CompareRow",
    "ConversionReport",
    "ConversionRow",
    "Coverage",
    "DTypePolicy",
    "Decision",
    "DiffReport",
    "DiffRow",
    "Expected",
    "Family",
    "FileRange",
    "Finding",
    "Flag",
    "FloatCastAdapter",
    "Gpt2ToRuda",
    "HALF_MODULES",
    "HalfPrecisionAdapter",
    "Hint",
    "IdentityAdapter",
    "Inference",
    "KeyChange",
    "KeyRemapper",
    "Likeness",
    "MERGES",
    "MetadataEdit",
    "MissingParam",
    "ModelFormat",
    "ModuleAdapter",
    "Nearest",
    "Origin",
    "Pad",
    "PathFilter",
    "PlanProblem",
    "PlannedTensor",
    "Preset",
    "PyTorchToRuda",
    "PytorchStore",
    "RULES",
    "Recipe",
    "RemapPlan",
    "RemapRule",
    "Reshape",
    "RopeOrder",
    "RowList",
    "RowsAt",
    "RudaToGpt2",
    "RudaToPyTorch",
    "RudapackStore",
    "SafetensorsStore",
    "SavePlan",
    "SaveResult",
    "Severity",
    "Slice",
    "Stamp",
    "Status",
    "StoreOptions",
    "SuggestKind",
    "SuggestReport",
    "Suggestion",
    "Take",
    "Target",
    "TensorIndex",
    "TensorSnapshot",
    "TensorSource",
    "TiedHead",
    "Transpose",
    "TreeNode",
    "Verdict",
    "adapter_names",
    "alias_groups",
    "alternative_key",
    "alternative_keys",
    "apply",
    "arch_from_json",
    "arch_from_toml",
    "arch_to_json",
    "arch_to_toml",
    "available_formats",
    "blocks",
    "cast_target",
    "check",
    "collect",
    "compact_indices",
    "compare",
    "compare_to_csv",
    "compare_to_html",
    "compare_to_json",
    "compare_to_markdown",
    "conversion_report",
    "convert",
    "dequantize",
    "describe",
    "diff",
    "diff_to_csv",
    "diff_to_html",
    "diff_to_json",
    "diff_to_markdown",
    "edit_metadata",
    "expected_of",
    "fold",
    "fold_all",
    "format_suffixes",
    "format_title",
    "infer_containers",
    "is_arch_file",
    "is_same_file",
    "lost_values",
    "open_store",
    "parse_size",
    "plan_save",
    "position_of",
    "predicate_named",
    "predicate_names",
    "preset_named",
    "presets",
    "read_arch",
    "read_recipe",
    "read_with_counts",
    "recipe_from_json",
    "recipe_from_toml",
    "recipe_to_json",
    "recipe_to_toml",
    "recognised",
    "register_predicate",
    "replace_file",
    "require_report_name",
    "save",
    "share_text",
    "suggest",
    "target_of",
    "to_sarif",
    "values_mark",
    "with_absolute_files",
    "write",
    "write_arch",
    "write_comparison",
    "write_diff",
    "write_recipe",
]

__getattr__, __dir__ = lazy_door(
    globals(),
    {
        "_sibling": ("replace_file",),
        "adapt": (
            "ChainAdapter",
            "IdentityAdapter",
            "ModuleAdapter",
            "PyTorchToRuda",
            "RudaToPyTorch",
            "adapter_names",
        ),
        "adapted": ("read_with_counts",),
        "aliases": ("Aliases", "alias_groups"),
        "apply_result": (
            "ApplyIssue",
            "ApplyResult",
            "MissingParam",
        ),
        "applying": ("apply",),
        "arch_file": (
            "arch_from_json",
            "arch_from_toml",
            "arch_to_json",
            "arch_to_toml",
            "is_arch_file",
            "read_arch",
            "write_arch",
        ),
        "piecewise": ("blocks",),
        "bytefile": ("ByteFile",),
        "checking": ("check",),
        "cast_report": (
            "CastErrors",
            "ConversionReport",
            "ConversionRow",
            "conversion_report",
            "describe",
            "lost_values",
        ),
        "castable": ("cast_target",),
        "check_report": (
            "RULES",
            "CheckReport",
            "Finding",
            "Severity",
            "to_sarif",
        ),
        "collecting": ("collect",),
        "comparing": ("compare",),
        "compare_report": (
            "CompareReport",
            "CompareRow",
            "Likeness",
            "position_of",
        ),
        "containers": (
            "Inference",
            "infer_containers",
        ),
        "converting": ("convert",),
        "decision_file": ("with_absolute_files",),
        "decisions": (
            "Action",
            "Change",
            "Decision",
            "Pad",
            "Reshape",
            "Slice",
            "Take",
            "Transpose",
        ),
        "dequantizing": ("dequantize",),
        "diff_match": ("alternative_key", "alternative_keys"),
        "diff_report": (
            "Coverage",
            "DiffReport",
            "Family",
            "Hint",
        ),
        "diff_rows": (
            "Cause",
            "DiffRow",
            "Flag",
            "Nearest",
            "Status",
            "fold",
            "fold_all",
        ),
        "diffing": ("diff",),
        "export_compare": (
            "compare_to_csv",
            "compare_to_html",
            "compare_to_json",
            "compare_to_markdown",
            "write_comparison",
        ),
        "export_diff": (
            "diff_to_csv",
            "diff_to_html",
            "diff_to_json",
            "diff_to_markdown",
            "write_diff",
        ),
        "filerange": ("FileRange",),
        "format": ("ModelFormat",),
        "half": (
            "HALF_MODULES",
            "FloatCastAdapter",
            "HalfPrecisionAdapter",
        ),
        "index": (
            "TensorIndex",
            "TreeNode",
        ),
        "layout": (
            "PlannedTensor",
            "PlanProblem",
        ),
        "metadata_edit": (
            "MetadataEdit",
            "edit_metadata",
        ),
        "naming": ("recognised",),
        "merging": ("MERGES",),
        "named_predicates": (
            "predicate_named",
            "predicate_names",
            "register_predicate",
        ),
        "opening": (
            "available_formats",
            "format_suffixes",
            "format_title",
            "open_store",
        ),
        "plan": (
            "SavePlan",
            "plan_save",
        ),
        "ready_made": (
            "Preset",
            "preset_named",
            "presets",
        ),
        "recipe": (
            "CastPolicy",
            "CastScope",
            "DTypePolicy",
            "Recipe",
        ),
        "recipe_file": (
            "read_recipe",
            "recipe_from_json",
            "recipe_from_toml",
            "recipe_to_json",
            "recipe_to_toml",
            "write_recipe",
        ),
        "remap": (
            "Collision",
            "KeyChange",
            "KeyRemapper",
            "RemapPlan",
            "RemapRule",
            "compact_indices",
        ),
        "report_pages": ("require_report_name",),
        "row_list": ("RowList", "RowsAt"),
        "same_values": ("values_mark",),
        "select": ("PathFilter",),
        "sharding": ("parse_size",),
        "shares": ("share_text",),
        "snapshot": (
            "ArraySource",
            "Origin",
            "TensorSnapshot",
            "TensorSource",
        ),
        "special": (
            "Gpt2ToRuda",
            "RopeOrder",
            "RudaToGpt2",
            "TiedHead",
        ),
        "stamp": (
            "Stamp",
            "is_same_file",
        ),
        "stores": (
            "PytorchStore",
            "RudapackStore",
            "SafetensorsStore",
            "StoreOptions",
        ),
        "suggesting": ("suggest",),
        "suggest_report": (
            "Suggestion",
            "SuggestKind",
            "SuggestReport",
            "Verdict",
        ),
        "targets": ("Expected", "Target", "expected_of"),
        "uri": ("target_of",),
        "writer": (
            "SaveResult",
            "save",
            "write",
        ),
    },
)
