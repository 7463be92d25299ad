"""The change notes: check their names, and gather them into CHANGELOG.md for a release.

A note is ``packaging/changes/<issue>.<added|changed|fixed|removed>[.<n>].md``: one sentence or a
short list for users. ``--check`` exits 1 naming what is off; ``--release VERSION`` writes the
section, newest first, and removes the notes. Without options the section is printed.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTES = ROOT / "packaging" / "changes"
CHANGELOG = ROOT / "CHANGELOG.md"
KINDS = {"added": "Added", "changed": "Changed", "fixed": "Fixed", "removed": "Removed"}
NAME = re.compile(r"(?P<issue>\d+)\.(?P<kind>added|changed|fixed|removed)(\.(?P<n>\d+))?\.md")


def notes() -> list[tuple[re.Match[str], str]]:
    """Every well-named note with its text, by issue number."""
    found = [
        (m, p.read_text("utf-8").strip()) for p in NOTES.iterdir() if (m := NAME.fullmatch(p.name))
    ]
    return sorted(found, key=lambda f: (int(f[0]["issue"]), f[0]["n"] or ""))


def problems() -> list[str]:
    """What is wrong with the notes, one sentence each."""
    bad = [
        f"{path.name}: expected <issue>.<{'|'.join(KINDS)}>[.<n>].md"
        for path in sorted(NOTES.iterdir())
        if path.name != "README.md" and not NAME.fullmatch(path.name)
    ]
    bad += [f"{match.string}: is empty" for match, text in notes() if not text]
    return bad


def section(title: str) -> str:
    """The Markdown section of all notes, by kind."""
    parts = [f"## {title}"]
    for kind, heading in KINDS.items():
        texts = [text for match, text in notes() if match["kind"] == kind]
        if texts:
            lines = [t if t.startswith("- ") else f"- {t}" for t in texts]
            parts.append(f"### {heading}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def release(version: str) -> None:
    """Put the section under the heading of CHANGELOG.md and remove the notes."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    head, _, rest = CHANGELOG.read_text("utf-8").partition("\n## ")
    tail = f"\n## {rest}" if rest else ""
    text = f"{head.rstrip()}\n\n{section(f'{version} ({today})')}{tail}"
    CHANGELOG.write_text(text, "utf-8")
    for match, _text in notes():
        (NOTES / match.string).unlink()


def main() -> int:
    """Parse the options and do the one thing they ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--release", metavar="VERSION")
    options = parser.parse_args()
    bad = problems()
    for sentence in bad:
        print(sentence, file=sys.stderr)
    if bad or options.check:
        return 1 if bad else 0
    if options.release:
        release(options.release)
    else:
        print(section("Unreleased"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
