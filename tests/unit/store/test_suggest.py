"""Suggested rules: what is found alone, with which verdict, and what is left to a person."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruda.models import get
from ruda.nn import ModuleSpec, MultiHeadAttention
from ruda.progress import Cancelled
from ruda.store import (
    ArraySource,
    Cause,
    KeyRemapper,
    Recipe,
    SuggestKind,
    TensorIndex,
    TensorSnapshot,
    Verdict,
    diff,
    recipe_from_toml,
    recipe_to_toml,
    suggest,
)
from ruda.tensor import DType

D, H, V, KV, LAYERS = 64, 172, 512, 32, 3


class Unreadable(ArraySource):
    """A source that must not be read."""

    def read(self):
        raise AssertionError("suggest reads headers only")


def index(named, *, format="safetensors"):
    return TensorIndex.of(
        (
            TensorSnapshot(key, DType.F32, shape, 4, Unreadable(np.empty(0)))
            for key, shape in dict(named).items()
        ),
        format=format,
    )


def meta():
    yield "tok_embeddings.weight", (V, D)
    for layer in range(LAYERS):
        at = f"layers.{layer}."
        shapes = {"wq": (D, D), "wk": (KV, D), "wv": (KV, D), "wo": (D, D)}
        yield from ((f"{at}attention.{name}.weight", s) for name, s in shapes.items())
        shapes = {"w1": (H, D), "w2": (D, H), "w3": (H, D)}
        yield from ((f"{at}feed_forward.{name}.weight", s) for name, s in shapes.items())
        yield from ((f"{at}{name}.weight", (D,)) for name in ("attention_norm", "ffn_norm"))
    yield from (("norm.weight", (D,)), ("output.weight", (V, D)))


def hugging_face():
    yield "model.embed_tokens.weight", (V, D)
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        shapes = {"q": (D, D), "k": (KV, D), "v": (KV, D), "o": (D, D)}
        yield from ((f"{at}self_attn.{name}_proj.weight", s) for name, s in shapes.items())
        shapes = {"gate": (H, D), "up": (H, D), "down": (D, H)}
        yield from ((f"{at}mlp.{name}_proj.weight", s) for name, s in shapes.items())
        norms = ("input_layernorm", "post_attention_layernorm")
        yield from ((f"{at}{name}.weight", (D,)) for name in norms)
    yield from (("model.norm.weight", (D,)), ("lm_head.weight", (V, D)))


def bert(scale="weight", shift="bias", prefix=""):
    dense = ("attention.self.query", "attention.self.key", "attention.output.dense")
    for layer in range(LAYERS):
        at = f"{prefix}encoder.layer.{layer}."
        for name in dense:
            yield from ((f"{at}{name}.weight", (D, D)), (f"{at}{name}.bias", (D,)))
        yield from ((f"{at}intermediate.dense.weight", (H, D)),)
        for name in ("attention.output", "output"):
            norm = f"{at}{name}.LayerNorm."
            yield from ((norm + scale, (D,)), (norm + shift, (D,)))
    yield from (
        (f"{prefix}embeddings.LayerNorm.{scale}", (D,)),
        (f"{prefix}embeddings.LayerNorm.{shift}", (D,)),
    )


WAYS = [
    pytest.param(meta, hugging_face, id="Meta to Hugging Face"),
    pytest.param(hugging_face, meta, id="Hugging Face to Meta"),
]


@pytest.mark.parametrize("order", ["written", "sorted", "reversed"])
@pytest.mark.parametrize(("source", "target"), WAYS)
def test_the_norms_of_a_llama_are_ambiguous(source, target, order):
    arranged = {"written": list, "sorted": sorted, "reversed": lambda s: list(s)[::-1]}[order]
    report = suggest(index(arranged(source())), index(target()))
    open_cases = [step.evidence for step in report.of(Verdict.AMBIGUOUS)]
    assert sum("attention_norm" in text or "ffn_norm" in text for text in open_cases) == 2
    for likely in (False, True):
        rows = diff(index(source()), index(target()), recipe=report.to_recipe(likely=likely)).rows
        taken = [row for row in rows if row.source is not None and row.target is not None]
        assert not any("layers" in row.key and "norm" in row.key for row in taken)
        assert not any("wq" in row.key or "q_proj" in row.key for row in taken)


def test_of_a_llama_what_is_sure_is_taken():
    report = suggest(index(hugging_face()), index(meta()))
    rules = [(step.rule.pattern, step.verdict) for step in report.of(Verdict.CERTAIN)]
    assert rules == [
        (r"^model\.", Verdict.CERTAIN),
        (r"(^|\.)mlp\.down_proj\.", Verdict.CERTAIN),
    ]
    loaded = diff(index(hugging_face()), index(meta()), recipe=report.to_recipe(likely=True))
    assert loaded.coverage.tensors == report.matched_after == 3 + 3 * LAYERS
    assert {step.kind for step in report.of(Verdict.LIKELY)} == {SuggestKind.FAMILY}


def test_rotary_projections_are_never_renamed_in_silence():
    report = suggest(index(hugging_face()), index(meta()))
    found = [s for s in report.of(Verdict.AMBIGUOUS) if "rotary" in s.evidence]
    assert next(step.rule.rename("layers.2.self_attn.q_proj.weight") for step in found) == (
        "layers.2.attention.wq.weight"
    )
    assert len(found) == 2


PREFIXES = ["", "bert.", "module.bert.", "_orig_mod.module.", "model."]
SPELLINGS = [("gamma", "beta"), ("weight", "bias")]
BERTS = [
    pytest.param(one, other, before, after, id=f"{before or '-'}{one[0]}-{after or '-'}{other[0]}")
    for one, other in itertools.product(SPELLINGS, SPELLINGS)
    for before, after in itertools.product(PREFIXES, PREFIXES)
    if not (before and after)
]


@pytest.mark.parametrize(("one", "other", "before", "after"), BERTS)
def test_prefixes_and_the_names_of_norms_are_certain(one, other, before, after):
    source, target = index(bert(*one, before)), index(bert(*other, after))
    report = suggest(source, target)
    assert {step.verdict for step in report.suggestions} <= {Verdict.CERTAIN}
    found = diff(source, target, recipe=report.to_recipe())
    assert found.coverage.share == 1.0
    assert found.is_clean
    assert not any("transpose" in step for row in found.rows for step in row.trail)
    assert report.to_recipe() == recipe_from_toml(recipe_to_toml(report.to_recipe()))


def test_square_matrices_of_files_are_not_turned_for_a_name():
    linear = [("fc.weight", (D, D)), ("fc.bias", (D,))]
    source = index([*linear, ("n.gamma", (D,)), ("n.beta", (D,))])
    target = index([*linear, ("n.weight", (D,)), ("n.bias", (D,))])
    recipe = suggest(source, target).to_recipe()
    assert not recipe.adapt
    assert diff(source, target, recipe=recipe).is_clean


def pytorch_of(name, prefix="", rename=lambda key: key):
    """What PyTorch would save of an architecture."""
    spec = ModuleSpec.of(get(name).build())
    for entry in spec:
        kind = entry.containers[-1].partition(":")[2]
        last = {"gamma": "weight", "alpha": "weight", "beta": "bias"}
        head, _, leaf = entry.key.rpartition(".")
        shape = entry.shape[::-1] if kind == "Linear" else entry.shape
        yield prefix + rename(f"{head}.{last.get(leaf, leaf)}"), shape


MODELS = ["resnet20", "mtcnn-pnet", "mtcnn-rnet", "mtcnn-onet", "burn-mnist", "llama"]


@pytest.mark.parametrize("prefix", ["", "state_dict.module."])
@pytest.mark.parametrize("name", MODELS)
def test_files_of_pytorch_need_prefix_and_adapter_only(name, prefix):
    source = index(pytorch_of(name, prefix), format="pytorch")
    model = get(name).build()
    report = suggest(source, model)
    kinds = [step.kind for step in report.of(Verdict.CERTAIN)]
    assert kinds == [*([SuggestKind.PREFIX] if prefix else []), SuggestKind.ADAPTER]
    assert diff(source, model, recipe=report.to_recipe()).is_clean


def test_tensors_that_an_adapter_divides_are_found_under_a_prefix():
    model = MultiHeadAttention(8, 2)
    parts = [("in_proj_weight", (24, 8)), ("in_proj_bias", (24,))]
    parts += [("out_proj.weight", (8, 8)), ("out_proj.bias", (8,))]
    source = index((f"module.{key}", shape) for key, shape in parts)
    report = suggest(source, model)
    assert [step.kind for step in report.of(Verdict.CERTAIN)][:1] == [SuggestKind.PREFIX]
    assert report.matched_after == report.target_tensors == 8
    assert diff(source, model, recipe=report.to_recipe(likely=True)).is_clean


def test_wrappers_inside_of_keys_are_taken_out():
    def wrapped(key):
        return key.replace("layers.", "layers._fsdp_wrapped_module.", 1)

    source = index(pytorch_of("llama", "module.", wrapped))
    report = suggest(source, get("llama").build())
    found = diff(source, get("llama").build(), recipe=report.to_recipe(likely=True))
    assert found.is_clean
    assert r"\._fsdp_wrapped_module\." in [s.rule.pattern for s in report.suggestions if s.rule]


def test_gaps_in_numbers_are_closed():
    def sparse(key):
        parts = key.split(".")
        step = {"conv_layers": 3, "fc_layers": 2}[parts[0]]
        return ".".join([parts[0], str(int(parts[1]) * step), *parts[2:]])

    source = index(pytorch_of("digit-recognizer", rename=sparse), format="pytorch")
    report = suggest(source, get("digit-recognizer").build())
    kinds = [step.kind for step in report.of(Verdict.CERTAIN)]
    assert kinds == [SuggestKind.INDEX, SuggestKind.ADAPTER]
    assert report.to_recipe().remap == KeyRemapper(contiguous=True)
    assert report.suggestions[0].title == "--contiguous"


def test_names_of_a_block_become_one_rule():
    def named(key):
        return key.replace("norm", "conv", 1).replace(".", "_BN.", 1) if key[:4] == "norm" else key

    source = index(pytorch_of("crepe-tiny", rename=named), format="pytorch")
    report = suggest(source, get("crepe-tiny").build())
    assert report.suggestions[0].rule.pattern == r"^conv(\d+)_BN\."
    assert report.suggestions[0].rule.replacement == "norm${1}."
    assert "the same rule matches" in report.suggestions[0].evidence
    found = diff(source, get("crepe-tiny").build(), recipe=report.to_recipe(likely=True))
    assert found.is_clean


def test_numbers_move_out_of_words():
    members = [(i, j) for i in range(3) for j in range(2)]
    source = index((f"enc{i}.c{j}.weight", (8 + i, 4)) for i, j in members)
    target = index((f"encoder.{i}.conv{j}.weight", (8 + i, 4)) for i, j in members)
    (step,) = suggest(source, target).suggestions
    assert step.rule.rename("enc2.c1.weight") == "encoder.2.conv1.weight"
    assert (step.verdict, step.matches) == (Verdict.CERTAIN, 6)


def test_offsets_are_closed_like_gaps():
    source = index((f"block.{n}.w", (n + 3, 4)) for n in range(1, 5))
    target = index((f"layers.{n}.w", (n + 4, 4)) for n in range(4))
    report = suggest(source, target)
    assert [step.kind for step in report.suggestions] == [SuggestKind.FAMILY, SuggestKind.INDEX]
    assert diff(source, target, recipe=report.to_recipe()).is_clean


def test_names_may_hold_anything():
    source = index([("mod(1).$x.w", (3, 4)), ("mod(1).$x.b", (3,)), ("", (2,)), ("..", (7,))])
    target = index([("m$1.\\x.w", (3, 4)), ("m$1.\\x.b", (3,)), ("$", (2,)), ("^", (7,))])
    report = suggest(source, target)
    assert diff(source, target, recipe=report.to_recipe(likely=True)).is_clean


def test_the_variant_of_an_enum_is_put_in():
    source = index((f"layers.{n}.weight", (n + 2, 3)) for n in range(3))
    target = index((f"layers.{n}.Conv.weight", (n + 2, 3)) for n in range(3))
    report = suggest(source, target)
    assert [step.kind for step in report.suggestions] == [SuggestKind.ENUM]
    assert diff(source, target, recipe=report.to_recipe()).is_clean


def test_two_prefixes_for_the_same_tensors_are_a_question():
    inner = [("0.weight", (4, 3)), ("0.bias", (4,)), ("1.weight", (2, 4))]
    source = index((f"{net}.{key}", shape) for net in ("model", "ema") for key, shape in inner)
    report = suggest(source, index(inner))
    (step,) = report.suggestions
    assert step.verdict is Verdict.AMBIGUOUS
    assert {step.title, *step.alternatives} == {r"--remap '^ema\.' ''", "strip 'model.'"}
    assert report.to_recipe(likely=True).is_identity


def test_families_that_are_alike_in_all_are_a_question():
    source = index([("a.first", (5, 4)), ("a.second", (5, 4))])
    report = suggest(source, index([("b.one", (5, 4)), ("b.two", (5, 4))]))
    assert {step.verdict for step in report.suggestions} == {Verdict.AMBIGUOUS}
    assert "or a.first -> b.two" in str(report)


def test_swapped_axes_are_told():
    report = suggest(index([("a.table", (5, 4))]), index([("a.table", (4, 5))]))
    (step,) = report.suggestions
    assert (step.kind, step.title) == (SuggestKind.LAYOUT, "swapped axes")
    assert step.on(report.recipe) == report.recipe


def test_a_recipe_is_built_on():
    source = index(pytorch_of("resnet20", "state_dict.module."), format="pytorch")
    start = Recipe().with_rule(r"^state_dict\.", "").with_adapt("pytorch-to-ruda")
    report = suggest(source, get("resnet20").build(), recipe=start)
    assert report.matched_before == 0
    (step,) = report.suggestions
    assert step.rule.pattern == r"^module\."
    recipe = report.to_recipe()
    assert [rule.pattern for rule in recipe.remap.rules] == [r"^state_dict\.", r"^module\."]
    assert diff(source, get("resnet20").build(), recipe=recipe).is_clean


def test_what_fits_needs_nothing():
    report = suggest(index(meta()), index(meta()))
    assert report.suggestions == ()
    assert str(report).endswith("no step is suggested")
    assert report.to_recipe(likely=True).is_identity
    assert suggest(index([]), index([])).as_data()["suggestions"] == []


def test_a_report_is_plain_data():
    data = suggest(index(bert(prefix="x.")), index(bert())).as_data()
    (step,) = data["suggestions"]
    assert (step["kind"], step["verdict"], step["rule"]) == (
        "prefix",
        "certain",
        {"from": r"^x\.", "to": ""},
    )


def test_it_can_be_stopped():
    class Stop:
        def check(self):
            raise Cancelled

        def report(self, progress):
            pass

    with pytest.raises(Cancelled, match=r"^$"):
        suggest(index(meta()), index(meta()), monitor=Stop())


WORDS = st.sampled_from(["a", "b", "module", "layers", "0", "1", "2", "conv1", "norm", "Conv"])
LEAVES = st.sampled_from(["weight", "bias", "gamma", "beta", "running_mean", "running_var", "w"])
KEYS = st.builds(lambda parts, leaf: ".".join((*parts, leaf)), st.lists(WORDS, max_size=3), LEAVES)
SHAPES = st.sampled_from([(2,), (3,), (2, 2), (3, 2), (2, 3), (2, 3, 1, 1), ()])
SIDES = st.dictionaries(KEYS, SHAPES, max_size=8)


@given(source=SIDES, target=SIDES, format=st.sampled_from(["safetensors", "pytorch", "rudapack"]))
def test_recipes_do_what_was_said(source, target, format):
    one, other = index(source.items(), format=format), index(target.items())
    report = suggest(one, other)
    before = diff(one, other).coverage.tensors
    sure, likely = (
        diff(one, other, recipe=report.to_recipe(likely=likely)) for likely in (False, True)
    )
    assert report.matched_before == before
    assert likely.coverage.tensors == report.matched_after >= before
    assert sure.coverage.tensors >= before
    assert not any(row.cause is Cause.COLLISION for row in (*sure.rows, *likely.rows))


def test_the_counts_of_all_steps_add_up_to_what_they_gain_together():
    prefixed = {f"module.{key}": shape for key, shape in dict(pytorch_digits()).items()}
    report = suggest(index(prefixed, format="pytorch"), get("digits").build())
    assert [step.matches for step in report.suggestions] == [10, 6]
    assert sum(step.matches for step in report.suggestions) == report.matched_after == 16


def pytorch_digits():
    """Shapes of the digits model under PyTorch's names."""
    renamed = {"gamma": "weight", "beta": "bias"}
    for entry in ModuleSpec.of(get("digits").build()):
        stem, _, last = entry.key.rpartition(".")
        turned = len(entry.shape) == 2
        yield f"{stem}.{renamed.get(last, last)}", entry.shape[::-1] if turned else entry.shape
