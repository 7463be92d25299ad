"""The language of the screens: which one a setting asks for, and its texts."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QLocale

from ruda.session import LANGUAGES, language_in_use, use_catalogue
from ruda_workbench import assets


def language_of(choice: str) -> str:
    """Code of the language that a setting asks for: that of the system where it is known."""
    if choice != "system":
        return choice
    system = QLocale.system().name().split("_")[0]
    return system if system in LANGUAGES else "en"


def use_language(choice: str) -> str:
    """Show texts in the language of a setting; a note where its catalogue is unreadable."""
    language = language_of(choice)
    if language == language_in_use() == "en":
        return ""  # as the program starts: what the other languages need is not even imported
    from ruda.errors import SettingError
    from ruda.session import read_catalogue, use_sentences

    use_catalogue({})
    use_sentences(None)
    if language == "en":
        return ""

    path = assets.resources() / "translations" / f"{language}.toml"
    try:
        use_catalogue(read_catalogue(path), language)
    except (OSError, SettingError) as error:
        return f"{error}; English is used"
    use_sentences(lambda: _sentences(language))
    return ""


def _sentences(language: str) -> Mapping[str, str]:
    """The sentences of the library in a language; none, which is English, where unreadable."""
    from ruda.errors import SettingError
    from ruda.session import read_catalogue

    try:
        return read_catalogue(assets.resources() / "translations" / f"{language}.library.toml")
    except (OSError, SettingError):
        return {}
