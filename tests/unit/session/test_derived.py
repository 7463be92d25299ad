import pytest

from ruda.errors import FileAccessError, RecipeError, UnknownArchitectureError
from ruda.session import Derived, TargetChoice, parse_target
from ruda.session import derived as module
from ruda.store import Decision, Recipe, Take, diff, open_store, save

from .conftest import index_of, tensor


@pytest.fixture
def document(session, pytorch_file):
    return session.open(pytorch_file, open_store(pytorch_file))


@pytest.fixture
def derived():
    derived = Derived()
    yield derived
    derived.forget()


def test_a_report_is_made_once_per_recipe(session, derived, document, digits_target):
    document = session.retarget(document.id, digits_target)
    first = derived.report(document)
    assert derived.report(document) is first
    assert not first.is_complete
    recipe = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")
    second = derived.report(session.edit(document.id, "Rules", recipe))
    assert second.is_complete
    assert derived.report(session.undo(document.id)) is first


def test_a_view_takes_its_modules_from_the_target(session, derived, document, digits_target):
    recipe = Recipe().with_rule(r"^net\.", "").with_adapt("pytorch-to-ruda")
    document = session.edit(document.id, "Rules", recipe)
    assert derived.view(document)["fc1.weight"].containers == ("Struct:Linear",)
    document = session.retarget(document.id, digits_target)
    view = derived.view(document)
    assert len(view["fc1.weight"].containers) == 2
    assert derived.view(document) is view


def test_without_steps_the_view_is_the_file(derived, document):
    assert derived.view(document) is document.index


def test_a_file_can_be_the_target(session, derived, document, pytorch_file):
    choice = parse_target(str(pytorch_file))
    document = session.retarget(document.id, choice)
    report = derived.report(document)
    assert report.is_complete
    assert derived.target(choice).spec is None


def test_a_target_file_that_was_replaced_is_read_again(session, derived, document, tmp_path):
    other = tmp_path / "other.safetensors"
    save(index_of(tensor("a")), other)
    document = session.retarget(document.id, parse_target(str(other)))
    assert derived.report(document).target_tensors == 1
    save(index_of(tensor("a"), tensor("b")), other, overwrite=True)
    assert derived.report(document).target_tensors == 2


def test_a_target_in_a_folder_that_was_written_to_is_read_again(
    session, derived, document, tmp_path
):
    folder = tmp_path / "folder"
    folder.mkdir()
    other = folder / "model.safetensors"
    save(index_of(tensor("a")), other)
    document = session.retarget(document.id, parse_target(str(folder)))
    report = derived.report(document)
    assert derived.report(document) is report
    more = tmp_path / "more.safetensors"
    save(index_of(tensor("a"), tensor("b")), more)
    other.write_bytes(more.read_bytes())
    assert derived.report(document).target_tensors == 2


def test_what_takes_from_a_file_that_changed_is_made_anew(session, derived, document, tmp_path):
    donor = tmp_path / "donor.safetensors"
    save(index_of(tensor("a", (2,))), donor)
    recipe = Recipe().with_further(Decision.of("b", Take(str(donor), "a")))
    document = session.edit(document.id, "Take", recipe)
    view = derived.view(document)
    assert derived.view(document) is view
    save(index_of(tensor("a", (3,))), donor, overwrite=True)
    assert derived.view(document)["b"].shape == (3,)


def test_a_report_needs_a_target(derived, document):
    with pytest.raises(RecipeError, match="choose a target to compare with"):
        derived.report(document)


def test_failures_are_not_kept(derived):
    for _ in range(2):
        with pytest.raises(UnknownArchitectureError, match="did you mean 'digits'"):
            derived.target(TargetChoice.of("digit"))


def test_only_the_last_results_are_kept(session, document, digits_target):
    derived = Derived(kept=2)
    document = session.retarget(document.id, digits_target)
    first = derived.report(document)
    for number in range(2):
        document = session.edit(document.id, "Rule", Recipe().with_rule("a", str(number)))
        derived.report(document)
    for _ in range(2):
        document = session.undo(document.id)
    assert derived.report(document) is not first
    derived.forget()


def test_large_results_are_kept_by_their_size_and_the_last_two_of_any(session, document):
    derived = Derived(tensors=len(document.index))
    views = []
    for number in range(4):
        document = session.edit(document.id, "Rule", Recipe().with_rule("^", str(number)))
        views.append(derived.view(document))
    assert derived.view(document) is views[3]
    document = session.undo(document.id)
    assert derived.view(document) is views[2]
    document = session.undo(document.id)
    assert derived.view(document) is not views[1]


def test_small_results_are_kept_in_number(session, document):
    derived = Derived(tensors=4 * len(document.index))
    views = []
    for number in range(4):
        document = session.edit(document.id, "Rule", Recipe().with_rule("^", str(number)))
        views.append(derived.view(document))
    for before in reversed(views):
        assert derived.view(document) is before
        document = session.undo(document.id)


def test_what_belongs_to_an_open_document_stays_when_another_is_closed(
    session, derived, document, pytorch_file, tmp_path
):
    paths = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for path in paths:
        save(index_of(tensor("a")), path)
    choices = [parse_target(str(path)) for path in paths]
    stays = session.retarget(document.id, choices[0])
    other = session.open(pytorch_file, open_store(pytorch_file))
    goes = session.retarget(other.id, choices[1])
    report, gone = derived.report(stays), derived.report(goes)
    targets = [derived.target(choice) for choice in choices]
    session.close(goes.id)
    derived.forget(session.documents)
    assert derived.report(stays) is report
    assert targets[0].index["a"].read() is not None
    with pytest.raises(FileAccessError):
        targets[1].index["a"].read()
    assert derived.report(goes) is not gone


def test_a_target_that_was_replaced_releases_its_file(session, derived, document, tmp_path):
    other = tmp_path / "other.safetensors"
    save(index_of(tensor("a")), other)
    choice = parse_target(str(other))
    document = session.retarget(document.id, choice)
    derived.report(document)
    before = derived.target(choice)
    save(index_of(tensor("a"), tensor("b")), other, overwrite=True)
    assert derived.report(document).target_tensors == 2
    with pytest.raises(FileAccessError):
        before.index["a"].read()


def test_a_target_that_work_goes_on_with_is_released_afterwards(
    session, derived, document, tmp_path, monkeypatch
):
    other = tmp_path / "other.safetensors"
    save(index_of(tensor("a")), other)
    document = session.retarget(document.id, parse_target(str(other)))
    read = []

    def closed_meanwhile(index, target, **given):
        derived.forget()
        read.append(target["a"].read())
        return diff(index, target, **given)

    monkeypatch.setattr(module, "diff", closed_meanwhile)
    target = derived.target(document.target)
    derived.report(document)
    assert len(read) == 1
    with pytest.raises(FileAccessError):
        target.index["a"].read()
