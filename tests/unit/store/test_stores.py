"""The three stores: options in both forms, and what they do on the way in and out."""

import dataclasses
import hashlib

import numpy as np
import pytest

from ruda.errors import (
    FileAccessError,
    KeyCollisionError,
    LoadError,
    MissingKeyError,
    RecipeError,
    SaveError,
    SettingError,
    TruncatedFileError,
)
from ruda.models import get as get_architecture
from ruda.nn import BatchNorm, Linear, Module
from ruda.store import (
    HalfPrecisionAdapter,
    KeyRemapper,
    PathFilter,
    PytorchStore,
    PyTorchToRuda,
    RudapackStore,
    RudaToPyTorch,
    SafetensorsStore,
    collect,
    open_store,
    plan_save,
)
from ruda.store.mapped import with_mapped_values
from ruda.tensor import DType
from ruda.testing.file_bytes import rudapack_bytes, safetensors_bytes, torch_zip_bytes

BOTH = [
    pytest.param(RudapackStore, "m.bpk", id="rudapack"),
    pytest.param(SafetensorsStore, "m.safetensors", id="safetensors"),
]


class Net(Module):
    def __init__(self, seed=0):
        self.fc = Linear(2, 3, seed=seed)
        self.norm = BatchNorm(3)
        if seed:
            rng = np.random.default_rng(seed)
            for entry in self.norm.walk():
                entry.param.assign(rng.random(3, dtype=np.float32), DType.F32)


class Enumerated(Module):
    """A module as Burn's enums are walked: the variant stands in the key."""

    def __init__(self, seed=5):
        self.block = Linear(2, 2, seed=seed)

    def walk(self):
        for entry in super().walk():
            yield dataclasses.replace(
                entry,
                key=entry.key.replace("block.", "block.Base."),
                containers=("Struct:Enumerated", "Enum:Block", "Struct:Linear"),
            )


def values(module):
    return {e.key: e.param.data().array.tobytes() for e in module.walk()}


FORMS = [
    pytest.param(
        lambda cls: cls.from_file("m", overwrite=True, allow_partial=True, validate=False),
        lambda cls: cls.from_file("m").overwrite(True).allow_partial(True).validate(False),
        [RudapackStore, SafetensorsStore],
        id="flags",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", filter=PathFilter.of("a").with_full_path("b")),
        lambda cls: cls.from_file("m").with_regex("a").with_full_path("b"),
        [RudapackStore, SafetensorsStore, PytorchStore],
        id="filter",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", filter=PathFilter.all()),
        lambda cls: cls.from_file("m").match_all(),
        [RudapackStore, SafetensorsStore, PytorchStore],
        id="all",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", remap=KeyRemapper.of(("a", "b"), ("c", "$0"))),
        lambda cls: cls.from_file("m").with_key_remapping("a", "b").with_remap_pattern("c", "$0"),
        [RudapackStore, SafetensorsStore, PytorchStore],
        id="remap",
    ),
    pytest.param(
        lambda cls: cls.from_file(
            "m", from_adapter=PyTorchToRuda(), to_adapter=RudaToPyTorch(), zero_copy=True
        ),
        lambda cls: (
            cls.from_file("m")
            .with_from_adapter(PyTorchToRuda())
            .with_to_adapter(RudaToPyTorch())
            .zero_copy(True)
        ),
        [RudapackStore, SafetensorsStore],
        id="adapters",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", skip_enum_variants=True, map_indices_contiguous=True),
        lambda cls: cls.from_file("m").skip_enum_variants(True).map_indices_contiguous(True),
        [RudapackStore, SafetensorsStore, PytorchStore],
        id="structure",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", metadata={"a": "b"}),
        lambda cls: cls.from_file("m").clear_metadata().metadata("a", "b"),
        [RudapackStore, SafetensorsStore],
        id="metadata",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", top_level_key="state_dict"),
        lambda cls: cls.from_file("m").with_top_level_key("state_dict"),
        [PytorchStore],
        id="top level",
    ),
    pytest.param(
        lambda cls: cls.from_file("m", auto_extension=False),
        lambda cls: cls.from_file("m").auto_extension(False),
        [RudapackStore],
        id="auto extension",
    ),
]


@pytest.mark.parametrize(("keywords", "builder", "stores"), FORMS)
def test_keywords_and_builder_methods_are_the_same(keywords, builder, stores):
    for cls in stores:
        assert keywords(cls) == builder(cls)


def test_a_builder_method_leaves_its_store_alone():
    store = RudapackStore.from_file("m")
    store.overwrite(True)
    assert store == RudapackStore.from_file("m")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
        store.path = None


def test_a_path_may_be_text(tmp_path):
    model = get_architecture("digits").build()
    SafetensorsStore(str(tmp_path / "a.safetensors")).collect_from(model)
    assert SafetensorsStore(str(tmp_path / "a.safetensors")).keys()


def test_a_predicate_joins_the_filter():
    store = RudapackStore.from_file("m").with_predicate(lambda key, path: key == "a")
    assert store.options.filter.matches("a")
    assert not store.options.filter.matches("b")


DEFAULTS = [
    pytest.param(RudapackStore, None, False, False, True, id="rudapack"),
    pytest.param(SafetensorsStore, None, False, False, False, id="safetensors"),
    pytest.param(PytorchStore, PyTorchToRuda(), True, True, False, id="pytorch"),
]


@pytest.mark.parametrize(("cls", "adapter", "skip", "contiguous", "extension"), DEFAULTS)
def test_defaults(cls, adapter, skip, contiguous, extension):
    options = cls.from_file("m").options
    assert options.from_adapter == adapter
    assert options.to_adapter == (None if adapter is None else RudaToPyTorch())
    assert options.skip_enum_variants is skip
    assert options.map_indices_contiguous is contiguous
    assert options.auto_extension is extension
    assert (options.validate, options.allow_partial, options.overwrite) == (True, False, False)
    assert options.filter.is_empty
    assert options.remap.is_empty


UNKNOWN = [
    pytest.param(RudapackStore, "top_level_key", id="rudapack"),
    pytest.param(SafetensorsStore, "auto_extension", id="safetensors"),
    pytest.param(PytorchStore, "metadata", id="pytorch"),
    pytest.param(PytorchStore, "overwite", id="misspelt"),
]


@pytest.mark.parametrize(("cls", "name"), UNKNOWN)
def test_an_option_that_a_store_does_not_have(cls, name):
    with pytest.raises(SettingError, match=f"{cls.__name__} has no option '{name}'"):
        cls.from_file("m", **{name: True})


def test_a_bad_regex_is_refused_when_the_store_is_built():
    with pytest.raises(RecipeError, match=r"'\(' is not a regular expression"):
        RudapackStore.from_file("m").with_regex("(")


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_a_model_comes_back(tmp_path, cls, name):
    model, other = Net(seed=1), Net()
    result = model.save_into(cls.from_file(tmp_path / name))
    assert result.path == tmp_path / name
    loaded = other.load_from(cls.from_file(tmp_path / name))
    assert values(other) == values(model)
    assert loaded.applied == tuple(values(model))
    assert (loaded.skipped, loaded.missing, loaded.unused, loaded.errors) == ((), (), (), ())


def test_rudapack_keeps_the_ids(tmp_path):
    model, other = Net(seed=1), Net()
    model.save_into(RudapackStore.from_file(tmp_path / "m"))
    other.load_from(RudapackStore.from_file(tmp_path / "m"))
    assert [e.param.id for e in other.walk()] == [e.param.id for e in model.walk()]


METADATA = [
    pytest.param(RudapackStore, "m.bpk", "rudapack", id="rudapack"),
    pytest.param(SafetensorsStore, "m.safetensors", "safetensors", id="safetensors"),
]


@pytest.mark.parametrize(("cls", "name", "named"), METADATA)
def test_metadata_says_who_wrote_it(tmp_path, cls, name, named):
    store = cls.from_file(tmp_path / name).metadata("epoch", "3")
    Net().save_into(store)
    with open_store(tmp_path / name) as index:
        assert set(index.metadata) == {"format", "producer", "version", "epoch"}
        assert index.metadata["format"] == named
        assert index.metadata["producer"] == "ruda"
    Net().save_into(store.overwrite().clear_metadata())
    with open_store(tmp_path / name) as index:
        assert index.metadata == {}


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_an_existing_file_is_kept_unless_told(tmp_path, cls, name):
    (tmp_path / name).write_bytes(b"precious")
    with pytest.raises(SaveError, match=r"the file exists; pass overwrite=True"):
        Net().save_into(cls.from_file(tmp_path / name))
    assert (tmp_path / name).read_bytes() == b"precious"
    Net().save_into(cls.from_file(tmp_path / name, overwrite=True))
    assert len(cls.from_file(tmp_path / name).keys()) == 6


EXTENSIONS = [
    pytest.param("m", True, "m.bpk", id="none"),
    pytest.param("m.v1", True, "m.v1", id="another"),
    pytest.param(".hidden", True, ".hidden.bpk", id="hidden"),
    pytest.param("m", False, "m", id="switched off"),
]


@pytest.mark.parametrize(("given", "auto", "written"), EXTENSIONS)
def test_the_suffix_is_appended_where_there_is_none(tmp_path, given, auto, written):
    store = RudapackStore.from_file(tmp_path / given, auto_extension=auto)
    Net().save_into(store)
    assert [p.name for p in tmp_path.iterdir()] == [written]
    assert len(store.keys()) == 6


def test_a_file_without_suffix_is_read_as_it_is(tmp_path):
    Net(seed=1).save_into(RudapackStore.from_file(tmp_path / "m", auto_extension=False))
    assert len(RudapackStore.from_file(tmp_path / "m").keys()) == 6


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_filters_see_the_models_keys_both_ways(tmp_path, cls, name):
    model, other = Net(seed=1), Net()
    renamed = cls.from_file(tmp_path / name).with_key_remapping(r"^fc\.", "head.")
    model.save_into(renamed.with_regex(r"^fc\."))
    assert set(cls.from_file(tmp_path / name).keys()) == {"head.bias", "head.weight"}
    back = cls.from_file(tmp_path / name).with_key_remapping(r"^head\.", "fc.")
    result = other.load_from(back.with_regex(r"^fc\.w").allow_partial())
    assert result.applied == ("fc.weight",)
    assert "fc.bias" in result.skipped
    assert values(other)["fc.weight"] == values(model)["fc.weight"]
    assert set(back.keys()) == {"fc.bias", "fc.weight"}


OLD = {
    "old.weight": np.arange(6, dtype="<f4").reshape(2, 3),
    "old.bias": np.arange(3, dtype="<f4"),
}
THREE = [
    pytest.param(RudapackStore, rudapack_bytes, id="rudapack"),
    pytest.param(SafetensorsStore, safetensors_bytes, id="safetensors"),
    pytest.param(PytorchStore, torch_zip_bytes, id="pytorch"),
]
CHOICES = [
    pytest.param(PathFilter(), ("weight", "bias"), (), id="an empty filter is none"),
    pytest.param(PathFilter.of("^bias$"), ("bias",), ("weight",), id="the module's key"),
    pytest.param(PathFilter.of("^old"), (), ("bias", "weight"), id="the file's key"),
]


@pytest.mark.parametrize(("cls", "build"), THREE)
@pytest.mark.parametrize(("chosen", "applied", "skipped"), CHOICES)
def test_the_three_stores_filter_and_remap_alike(cls, build, chosen, applied, skipped):
    rules = KeyRemapper.of((r"^old\.", ""))
    store = cls.from_bytes(build(OLD), filter=chosen, remap=rules, from_adapter=None)
    module = Linear(2, 3)
    result = module.load_from(store)
    assert (result.applied, result.skipped) == (applied, skipped)
    assert (result.missing, result.unused, result.errors) == ((), (), ())
    for key in applied:
        np.testing.assert_array_equal(getattr(module, key).value().numpy(), OLD[f"old.{key}"])


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_adapters_work_before_renaming_on_the_way_out(tmp_path, cls, name):
    model, other = Net(seed=1), Net()
    store = cls.from_file(tmp_path / name, to_adapter=RudaToPyTorch(), from_adapter=PyTorchToRuda())
    model.save_into(store.with_key_remapping(r"norm\.weight", "norm.scale"))
    with open_store(tmp_path / name) as index:
        assert set(index) == {
            *("fc.weight", "fc.bias", "norm.scale", "norm.bias"),
            *("norm.running_mean", "norm.running_var"),
        }
        assert index["fc.weight"].shape == (3, 2)
        np.testing.assert_array_equal(index["fc.weight"].read(), model.fc.weight.value().numpy().T)
    other.load_from(store.with_key_remapping(r"norm\.scale", "norm.weight"))
    assert values(other) == values(model)


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_half_precision_counts_what_it_loses(tmp_path, cls, name):
    model = Net(seed=1)
    wide = np.array([[1e6, 1, 2], [3, 4, 5]], np.float32)
    model.fc.weight.assign(wide, DType.F32)
    result = model.save_into(cls.from_file(tmp_path / name, to_adapter=HalfPrecisionAdapter()))
    assert result.casts["fc.weight"].overflow == 1
    with open_store(tmp_path / name) as index:
        assert index["fc.weight"].dtype is DType.F16
        assert index["norm.running_var"].dtype is DType.F32


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_keys_that_collide_on_save_are_refused(tmp_path, cls, name):
    store = cls.from_file(tmp_path / name).with_key_remapping(r"(weight|bias)", "x")
    with pytest.raises(KeyCollisionError, match=r"'fc\.weight' and 'fc\.bias' would both become"):
        Net().save_into(store)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_a_partial_file_needs_permission(tmp_path, cls, name):
    model, other = Net(seed=1), Net()
    before = values(other)
    model.save_into(cls.from_file(tmp_path / name).with_full_path("fc.weight"))
    with pytest.raises(LoadError, match=r"5 of 6 tensors are missing"):
        other.load_from(cls.from_file(tmp_path / name))
    assert values(other) == before
    result = other.load_from(cls.from_file(tmp_path / name).allow_partial())
    assert len(result.missing) == 5


@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_errors_can_be_looked_at_instead_of_raised(tmp_path, cls, name):
    Linear(2, 3).save_into(cls.from_file(tmp_path / name))
    with pytest.raises(LoadError, match=r"Shape mismatch for 'weight': expected"):
        Linear(3, 3).load_from(cls.from_file(tmp_path / name))
    result = Linear(3, 3).load_from(cls.from_file(tmp_path / name).validate(False))
    assert len(result.errors) == 1
    assert result.applied == ("bias",)


@pytest.mark.parametrize("cls", [RudapackStore, SafetensorsStore])
def test_a_store_in_memory(cls):
    model, other = Net(seed=1), Net()
    store = cls.from_bytes()
    with pytest.raises(FileAccessError, match=r"nothing has been saved into this store yet"):
        store.get_bytes()
    result = model.save_into(store)
    data = store.get_bytes()
    assert len(data) == result.nbytes
    other.load_from(cls.from_bytes(data))
    assert values(other) == values(model)
    other.load_from(store.allow_partial())
    assert len(store.keys()) == 6


@pytest.mark.parametrize("cls", [RudapackStore, SafetensorsStore])
def test_memory_and_file_hold_the_same_bytes(tmp_path, cls):
    model, store = Net(seed=1), cls.from_bytes()
    model.save_into(store)
    model.save_into(cls.from_file(tmp_path / "m"))
    (written,) = tmp_path.iterdir()
    assert store.get_bytes() == written.read_bytes()


def test_a_store_in_memory_refuses_what_the_format_cannot_hold():
    with pytest.raises(SaveError, match=r"'__metadata__': this name is reserved"):
        Linear(1, 1, bias=False).save_into(
            SafetensorsStore.from_bytes().with_key_remapping("weight", "__metadata__")
        )


def test_bytes_of_a_file_store_are_in_the_file(tmp_path):
    with pytest.raises(FileAccessError, match=r"get_bytes is for stores in memory"):
        RudapackStore.from_file(tmp_path / "m.bpk").get_bytes()


def test_bytes_that_were_cut():
    with pytest.raises(TruncatedFileError, match=r"the metadata ends at byte 265"):
        RudapackStore.from_bytes(b"NRUB\x01\x00\xff\x00\x00\x00").keys()


@pytest.mark.parametrize("zero_copy", [False, True], ids=["copied", "mapped"])
@pytest.mark.parametrize(("cls", "name"), BOTH)
def test_snapshots_can_be_read_after_the_store_is_gone(tmp_path, cls, name, zero_copy):
    model = Net(seed=1)
    model.save_into(cls.from_file(tmp_path / name))
    store = cls.from_file(tmp_path / name, zero_copy=zero_copy)
    snapshot = store.with_key_remapping(r"^fc\.", "head.").get_snapshot("head.weight")
    read = snapshot.read()
    np.testing.assert_array_equal(read, model.fc.weight.value().numpy())
    assert read.flags.writeable is not zero_copy
    everything = store.get_all_snapshots()
    assert list(everything) == sorted(values(model))
    assert everything["fc.bias"].read().shape == (3,)


def test_mapped_values_stream_and_need_no_memory(tmp_path):
    model = Net(seed=1)
    store = RudapackStore.from_file(tmp_path / "m.bpk", zero_copy=True)
    model.save_into(store)
    with store.open() as index:
        assert index["fc.weight"].sha256() == hashlib.sha256(values(model)["fc.weight"]).hexdigest()
        plan = plan_save(index, tmp_path / "n.bpk")
        assert plan.peak_bytes == len(plan.header) + 24


def test_sources_that_are_no_ranges_are_left_as_they_are():
    index = collect(Net())
    assert with_mapped_values(index).snapshots == dict(index)


def test_a_key_that_is_not_there(tmp_path):
    Net().save_into(RudapackStore.from_file(tmp_path / "m"))
    with pytest.raises(MissingKeyError, match=r"'fc\.weigth'; did you mean 'fc\.weight'\?"):
        RudapackStore.from_file(tmp_path / "m").get_snapshot("fc.weigth")


def test_indices_are_made_contiguous_on_load_only(tmp_path):
    class Stack(Module):
        def __init__(self):
            self.fc = [Linear(2, 2, seed=1), Linear(2, 2, seed=2)]

    model, other = Stack(), Stack()
    sparse = KeyRemapper.of((r"^fc\.1\.", "fc.4."))
    model.save_into(SafetensorsStore.from_file(tmp_path / "m.safetensors", remap=sparse))
    assert set(SafetensorsStore.from_file(tmp_path / "m.safetensors").keys()) >= {"fc.4.bias"}
    loading = SafetensorsStore.from_file(tmp_path / "m.safetensors", map_indices_contiguous=True)
    assert other.load_from(loading).missing == ()


def test_variants_are_left_out_of_the_file_and_found_again(tmp_path):
    model, other = Enumerated(seed=1), Enumerated(seed=2)
    plain = SafetensorsStore.from_file(tmp_path / "plain.safetensors")
    model.save_into(plain)
    assert set(plain.keys()) == {"block.Base.weight", "block.Base.bias"}
    without = SafetensorsStore.from_file(tmp_path / "m.safetensors", skip_enum_variants=True)
    model.save_into(without)
    assert set(without.keys()) == {"block.weight", "block.bias"}
    result = other.load_from(without)
    assert result.applied == ("block.weight", "block.bias")
    assert values(other) == values(model)


@pytest.mark.cases
def test_a_checkpoint_of_pytorch_is_adapted_by_itself(cases):
    folder = cases / "models" / "burn_import_mnist"
    model = get_architecture("import-mnist").build()
    result = model.load_from(PytorchStore.from_file(folder / "mnist.pt"))
    assert len(result.applied) == 18
    assert set(result.unused) == {"norm1.num_batches_tracked", "norm2.num_batches_tracked"}
    with open_store(folder / "mnist.pt") as index:
        np.testing.assert_array_equal(model.fc1.weight.data().array, index["fc1.weight"].read().T)
    store = SafetensorsStore.from_file(folder / "mnist.safetensors")
    assert model.load_from(store.with_from_adapter(PyTorchToRuda())).errors == ()
    with pytest.raises(LoadError, match=r"nothing was loaded"):
        get_architecture("import-mnist").build().load_from(store)


@pytest.mark.cases
def test_every_store_opens_what_the_content_says(cases):
    path = cases / "models" / "burn_mnist_bpk" / "model.bpk"
    model = get_architecture("burn-mnist").build()
    assert len(model.load_from(RudapackStore.from_file(path)).applied) == 18
    assert len(RudapackStore.from_bytes(path.read_bytes()).keys()) == 18


def test_pytorch_files_have_the_names_and_layouts_of_pytorch(tmp_path):
    model, other = Net(seed=1), Net()
    store = PytorchStore.from_file(tmp_path / "m.pt")
    model.save_into(store)
    with open_store(tmp_path / "m.pt") as index:
        assert index["fc.weight"].shape == (3, 2)
        assert "norm.weight" in index
    other.load_from(store)
    assert values(other) == values(model)


def test_metadata_has_no_place_in_a_pytorch_file(tmp_path):
    with pytest.raises(SettingError, match="PytorchStore has no option 'metadata'"):
        PytorchStore.from_file(tmp_path / "m.pt").metadata("a", "b")
