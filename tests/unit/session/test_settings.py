import pytest

from ruda.errors import SaveError
from ruda.session import Settings, read_settings, setting_infos, write_settings


@pytest.fixture
def file(tmp_path):
    return tmp_path / "config" / "settings.toml"


def written(file, text):
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    return read_settings(file)


def test_an_absent_file_gives_the_defaults(file):
    found = read_settings(file)
    assert found.settings == Settings()
    assert found.notes == ()


def test_only_what_differs_is_written(file):
    write_settings(file, Settings(theme="dark", batch_size=8))
    assert file.read_text("utf-8") == 'theme = "dark"\nbatch_size = 8\n'
    assert read_settings(file).settings == Settings(theme="dark", batch_size=8)
    assert [entry.name for entry in file.parent.iterdir()] == ["settings.toml"]


def test_unknown_keys_are_kept_and_told(file):
    found = written(file, 'theme = "dark"\nflux = 3\n[future]\na = 1\n')
    assert found.settings.theme == "dark"
    assert len(found.notes) == 2
    assert "flux is no setting of this version; kept" in found.notes[0]
    write_settings(file, found.settings, unknown=found.unknown)
    assert "flux = 3" in file.read_text("utf-8")
    assert "[future]" in file.read_text("utf-8")


VALUES = [
    pytest.param('theme = "pink"', "theme = 'pink'", id="choice"),
    pytest.param("batch_size = 0", "batch_size = 0", id="too small"),
    pytest.param('verify_saved = "yes"', "verify_saved = 'yes'", id="wrong type"),
]


@pytest.mark.parametrize(("line", "said"), VALUES)
def test_a_bad_value_costs_only_itself(file, line, said):
    found = written(file, f"{line}\nrecent_files = 3\n")
    assert found.settings == Settings(recent_files=3)
    assert said in found.notes[0]
    assert (file.parent / "settings.broken-1.toml").read_text("utf-8").startswith(line)


BROKEN = [
    pytest.param(b"theme = ", id="not toml"),
    pytest.param(b"\xff\xfe\x00", id="not utf-8"),
]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_file_gives_the_defaults_and_is_kept(file, content):
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    found = read_settings(file)
    assert found.settings == Settings()
    assert "a copy is in settings.broken-1.toml" in found.notes[0]
    assert (file.parent / "settings.broken-1.toml").read_bytes() == content
    read_settings(file)
    assert len(list(file.parent.iterdir())) == 2


def test_another_broken_file_gets_another_name(file):
    written(file, "a = ")
    file.write_text("b = ", "utf-8")
    read_settings(file)
    assert sorted(entry.name for entry in file.parent.iterdir()) == [
        "settings.broken-1.toml",
        "settings.broken-2.toml",
        "settings.toml",
    ]


def test_every_setting_is_described():
    infos = {info.key: info for info in setting_infos()}
    assert tuple(infos) == Settings.__struct_fields__
    assert all(info.title and info.help.endswith(".") for info in infos.values())
    assert infos["theme"].choices == ("system", "light", "dark")
    assert infos["verify_saved"].kind == "flag"
    assert (infos["batch_size"].minimum, infos["batch_size"].maximum) == (1, 1024)


def test_a_write_that_fails_leaves_the_old_file(file, monkeypatch):
    write_settings(file, Settings(theme="dark"))

    def refuse(source, target):
        raise OSError("no")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(SaveError, match=r"settings\.toml: .* cannot be put in place: no$"):
        write_settings(file, Settings(theme="light"))
    assert file.read_text("utf-8") == 'theme = "dark"\n'
    assert [entry.name for entry in file.parent.iterdir()] == ["settings.toml"]
