#!/usr/bin/env python3
"""Set up, open, test and measure Ruda from a bare checkout. Standard library only.

    python3 dev.py app [FILE…]      open the workbench (without FILE: the embedded sample)
    python3 dev.py test [ARGS…]     run the test suite; ARGS go to pytest
    python3 dev.py setup            only make .venv, compile and install
    python3 dev.py cli ARGS…        the ruda command
    python3 dev.py bench [NAME]     side-by-side measurements (kernels, window, …) in .venv-bench
    python3 dev.py fuzz NAME [--seconds N] [--runs N]   broken bytes for one reader, with atheris
    python3 dev.py shot SCREEN [--theme light|dark] [--scale 1|2] [--out FILE]
    python3 dev.py changes [--check | --release VERSION]   the change notes

Environment: RUDA_NO_APT=1 never calls apt-get; RUDA_NATIVE=enabled|disabled forces or forbids
compiled kernels; RUDA_KERNELS=v4|v3|base|numpy picks a variant at import.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BENCH_VENV = ROOT / ".venv-bench"
KERNELS_STAMP = VENV / "ruda-kernels.stamp"
BIN = "Scripts" if os.name == "nt" else "bin"
BUILD_TOOLS = ["meson-python>=0.17", "meson>=1.4", "ninja>=1.11", "pythran>=0.18.1", "numpy>=2.0"]
BENCH_FOLDER = ROOT / "build" / "bench"
# What imports cost is measured here, so ruda is installed as users have it.
BENCH_INSTALLED = {"stores", "window"}
BENCH_PEERS = ["torch==2.13.0", "safetensors", "ml_dtypes", "numpy"]
FUZZER = "atheris==3.0.0"
OLDEST = (3, 11)

# Which Debian package brings a shared library that Qt may miss.
DEBIAN = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libbrotlidec.so.1": "libbrotli1",
    "libbrotlicommon.so.1": "libbrotli1",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libstdc++.so.6": "libstdc++6",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-glx.so.0": "libxcb-glx0",
}
QT_LIBRARIES = ["QtCore", "QtGui", "QtWidgets", "QtSvg"]


class Stop(Exception):  # noqa: N818 - a sentence for the person who called, not a fault
    """Ends the program with a sentence and an exit code."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """One line to stderr, so that stdout stays the called program's."""
    print(f"dev: {message}", file=sys.stderr, flush=True)


def venv_python(venv: Path = VENV) -> Path:
    """Interpreter of a virtual environment of this checkout."""
    return venv / BIN / ("python.exe" if os.name == "nt" else "python")


def environment(venv: Path = VENV) -> dict[str, str]:
    """This environment with the tools of the virtual environment in front."""
    env = dict(os.environ)
    env["PATH"] = f"{venv / BIN}{os.pathsep}{env.get('PATH', '')}"
    env["VIRTUAL_ENV"] = str(venv)
    env.pop("PYTHONHOME", None)
    return env


def run(command: Sequence[object], *, venv: Path = VENV, **more: object) -> None:
    """Run a command that must succeed. Raises Stop with its exit code."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=ROOT, env=environment(venv), check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise Stop(f"{' '.join(words[:6])} … ended with code {done.returncode}", done.returncode)


# --- the virtual environment -------------------------------------------------------------------


def apt_allowed() -> bool:
    """True for root on a Debian that does not forbid it."""
    return (
        hasattr(os, "geteuid")
        and os.geteuid() == 0
        and shutil.which("apt-get") is not None
        and not os.environ.get("RUDA_NO_APT")
    )


def apt_install(packages: Sequence[str], purpose: str) -> None:
    """Install Debian packages as root, or say the one line that does."""
    line = f"apt-get install -y --no-install-recommends {' '.join(packages)}"
    if not apt_allowed():
        raise Stop(f"{purpose} needs system packages; run: sudo {line}")
    say(f"{purpose}: {line}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], env=env, check=False, stdout=subprocess.DEVNULL)
    done = subprocess.run(line.split(), env=env, check=False, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise Stop(f"apt-get failed; install these packages yourself: {' '.join(packages)}")


def make_venv(venv: Path) -> None:
    """Make a virtual environment with pip in it, unless one that works is there."""
    python = venv_python(venv)
    if python.exists():
        works = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
        if works.returncode == 0:
            return
        shutil.rmtree(venv)
    say(f"making {venv.name}")
    if _create(venv):
        return
    if uv := shutil.which("uv"):
        subprocess.run([uv, "venv", "--seed", str(venv)], check=True)
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    apt_install([f"python{version}-venv"], "a virtual environment")
    if not _create(venv):
        raise Stop(f"{sys.executable} -m venv {venv} fails; see its message above")


def _create(venv: Path) -> bool:
    made = subprocess.run(
        [sys.executable, "-m", "venv", str(venv)], capture_output=True, check=False
    )
    if made.returncode:
        shutil.rmtree(venv, ignore_errors=True)
    return made.returncode == 0


def compiler() -> str | None:
    """The C++ compiler that the build would find, or None."""
    named = os.environ.get("CXX", "").split()
    for word in [named[0]] if named else ["c++", "g++", "clang++", "clang-cl"]:
        if found := shutil.which(word):
            return found
    return None


def fingerprint(native: str) -> str:
    """Changes whenever what is installed no longer fits the checkout."""
    digest = hashlib.sha256(f"{sys.version} {native} {compiler()} {ROOT}".encode())
    files = [ROOT / "pyproject.toml", ROOT / "meson.build", ROOT / "meson.options"]
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def kernel_digest() -> str:
    """Changes with any kernel or its build, for which an editable install needs only an import."""
    digest = hashlib.sha256()
    native = ROOT / "native"
    for path in [native / "meson.build", *sorted((native / "kernels").glob("*.py"))]:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def setup(extra: str) -> None:
    """Make .venv fit for ``extra`` (``app`` or ``test``); returns at once when it is."""
    native = os.environ.get("RUDA_NATIVE", "enabled" if compiler() else "disabled")
    stamp = VENV / f"ruda-{extra}.stamp"
    wanted = fingerprint(native)
    covering = [stamp, VENV / "ruda-test.stamp"]
    if any(s.exists() and s.read_text() == wanted for s in covering) and venv_python().exists():
        compile_changed(native)
        return
    make_venv(VENV)
    for old in VENV.glob("ruda-*.stamp"):
        old.unlink()
    pip = [venv_python(), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    say("installing the build tools")
    run([*pip, *BUILD_TOOLS])
    install_project(pip, extra, native)
    stamp.write_text(wanted)
    KERNELS_STAMP.write_text(kernel_digest())


def compile_changed(native: str) -> None:
    """Have one process compile the kernels that changed; two that import at once spoil it."""
    wanted = kernel_digest()
    known = KERNELS_STAMP.read_text() if KERNELS_STAMP.exists() else ""
    if native == "disabled" or known == wanted:
        return
    say("compiling the kernels that changed, about 15 seconds for each of three variants")
    run([venv_python(), "-c", "import ruda._kernels"])
    KERNELS_STAMP.write_text(wanted)


def setting(native: str) -> list[str]:
    """The build option for pip, in the long form: pip 23.0 of Debian 12 has no ``-C``."""
    return ["--config-settings", f"setup-args=-Dnative={native}"]


def install_project(pip: Sequence[object], extra: str, native: str) -> None:
    """Editable install; falls back to the NumPy twins, saying so, unless they are forbidden."""
    target = ["--no-build-isolation", "-e", f".[{extra}]"]
    shutil.rmtree(ROOT / "build" / f"cp{sys.version_info.major}{sys.version_info.minor}", True)
    if native == "disabled":
        say("no C++ compiler (or RUDA_NATIVE=disabled): the NumPy twins of the kernels serve")
    else:
        say(f"compiling the kernels with {compiler()} and installing; this takes a few minutes")
    try:
        run([*pip, *setting(native), *target])
    except Stop:
        if native == "disabled" or os.environ.get("RUDA_NATIVE"):
            raise
        say("the kernels did not compile (see above): trying again with their NumPy twins")
        run([*pip, *setting("disabled"), *target])


# --- Qt's system libraries ---------------------------------------------------------------------


def has_display() -> bool:
    """True where a window can be shown."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def missing_libraries(with_display: bool) -> list[str]:
    """Names of shared libraries that Qt needs here and that ldd does not find."""
    code = "import PySide6, pathlib; print(pathlib.Path(PySide6.__file__).parent)"
    asked = subprocess.run([venv_python(), "-c", code], capture_output=True, text=True, check=True)
    folder = Path(asked.stdout.strip())
    plugins = ["libqoffscreen.so", "libqxcb.so"] if with_display else ["libqoffscreen.so"]
    files = [f for name in QT_LIBRARIES for f in folder.glob(f"{name}.abi3.so")]
    files += [folder / "Qt" / "plugins" / "platforms" / name for name in plugins]
    missing = set()
    for path in filter(Path.exists, files):
        shown = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        missing |= {line.split()[0] for line in shown.splitlines() if "not found" in line}
    return sorted(missing)


def check_qt(with_display: bool) -> None:
    """Find what Qt lacks and install or name it. Only on Linux, once per environment."""
    if not sys.platform.startswith("linux") or shutil.which("ldd") is None:
        return
    stamp = VENV / f"ruda-qt-{'display' if with_display else 'offscreen'}.ok"
    if stamp.exists():
        return
    missing = missing_libraries(with_display)
    packages = sorted({DEBIAN[name] for name in missing if name in DEBIAN})
    unknown = [name for name in missing if name not in DEBIAN]
    if packages:
        apt_install(packages, "Qt")
        unknown = missing_libraries(with_display)
    if unknown:
        raise Stop(f"Qt misses these shared libraries: {' '.join(unknown)}")
    stamp.write_text("ok")


# --- the commands ------------------------------------------------------------------------------


def call(command: Sequence[object], env: dict[str, str] | None = None) -> int:
    """Run a program in the foreground and give its exit code back."""
    words = [str(word) for word in command]
    return subprocess.run(words, env=env or environment(), check=False).returncode


def command_app(arguments: Sequence[str]) -> int:
    """Open the workbench, or write a screenshot of it where there is no display."""
    setup("app")
    check_qt(has_display())
    files = list(arguments) or ["--sample"]
    if has_display():
        return call([venv_python(), "-m", "ruda_workbench", *files])
    out = Path.cwd() / "ruda-workbench.png"
    env = {**environment(), "QT_QPA_PLATFORM": "offscreen"}
    code = call([venv_python(), "-m", "ruda_workbench", *files, "--screenshot", out], env)
    if code == 0:
        say(f"there is no display; a screenshot of the window is in {out}")
    return code


def command_test(arguments: Sequence[str]) -> int:
    """Run the test suite."""
    setup("test")
    check_qt(with_display=False)
    env = {**environment(), "QT_QPA_PLATFORM": "offscreen"}
    pytest = [venv_python(), "-m", "pytest", "-q", f"--rootdir={ROOT}"]
    if arguments:
        return call([*pytest, *arguments], env)
    # A rebuild of the kernels is for one process; two at once would write over each other.
    run([venv_python(), "-c", "import ruda"])
    # Files are shared out among processes; what watches the clock or a screen comes by itself.
    beside = call(
        [*pytest, f"-n{min(os.cpu_count() or 1, 8)}", "--dist=loadfile", "-mnot alone"], env
    )
    return call([*pytest, "-malone"], env) or beside


def command_setup(_: Sequence[str]) -> int:
    """Make everything ready and stop."""
    setup("test")
    check_qt(with_display=False)
    say("ready: .venv holds ruda, the workbench and the test tools")
    return 0


def command_cli(arguments: Sequence[str]) -> int:
    """Call the ruda command."""
    setup("app")
    return call([venv_python(), "-m", "ruda.cli", *arguments])


def command_bench(arguments: Sequence[str]) -> int:
    """Run one benchmark or all, beside their peers."""
    scripts = (ROOT / "tests" / "benchmarks").glob("bench_*.py")
    names = sorted(script.stem.removeprefix("bench_") for script in scripts)
    chosen = [a for a in arguments[:1] if not a.startswith("-")]
    if unknown := [name for name in chosen if name not in names]:
        raise Stop(f"no benchmark is called {unknown[0]!r}; there are: {' '.join(names)}")
    setup("test")
    python = bench_python()
    BENCH_FOLDER.mkdir(parents=True, exist_ok=True)
    code = 0
    for name in chosen or names:
        script = ROOT / "tests" / "benchmarks" / f"bench_{name}.py"
        out = BENCH_FOLDER / f"{name}.json"
        more = arguments[1:] if chosen else arguments
        env = environment(BENCH_VENV)
        if name in BENCH_INSTALLED:
            env |= installed_ruda()
        code |= call([python, script, "--json", out, *more], env)
        say(f"figures in {out.relative_to(ROOT)}")
    return code


def bench_python() -> Path:
    """Interpreter of .venv-bench: the peers, with .venv (and so ruda) behind them."""
    make_venv(BENCH_VENV)
    stamp = BENCH_VENV / "ruda-bench.stamp"
    wanted = " ".join(BENCH_PEERS)
    if not stamp.exists() or stamp.read_text() != wanted:
        say(f"installing {wanted} into {BENCH_VENV.name}")
        python = venv_python(BENCH_VENV)
        run([python, "-m", "pip", "install", "-qq", *BENCH_PEERS], venv=BENCH_VENV)
        asks = "import sysconfig; print(sysconfig.get_path('purelib'))"
        paths = [
            subprocess.run([venv_python(v), "-c", asks], capture_output=True, text=True, check=True)
            for v in (BENCH_VENV, VENV)
        ]
        bench, main_venv = (done.stdout.strip() for done in paths)
        link = f"import site; site.addsitedir({main_venv!r})\n"
        (Path(bench) / "ruda_behind.pth").write_text(link)
        stamp.write_text(wanted)
    return venv_python(BENCH_VENV)


def installed_ruda() -> dict[str, str]:
    """Variables that put a wheel of this checkout, unpacked by pip, before the editable install."""
    native = os.environ.get("RUDA_NATIVE", "enabled" if compiler() else "disabled")
    digest = hashlib.sha256((fingerprint(native) + kernel_digest()).encode())
    for path in sorted((ROOT / "core").rglob("*.py")):
        digest.update(path.read_bytes())
    folder = BENCH_FOLDER / f"ruda-{digest.hexdigest()[:12]}"
    if not folder.exists():
        say("building the wheel of this checkout; the first time it compiles the kernels")
        wheels, new = BENCH_FOLDER / "wheels", folder.with_suffix(".new")
        shutil.rmtree(wheels, ignore_errors=True)
        shutil.rmtree(new, ignore_errors=True)
        pip = [venv_python(), "-m", "pip", "--disable-pip-version-check", "-qq"]
        options = ["--no-deps", "--no-build-isolation", "--wheel-dir", wheels, *setting(native)]
        options += ["--config-settings", f"builddir={BENCH_FOLDER / 'meson'}"]
        run([*pip, "wheel", *options, ROOT])
        run([*pip, "install", "--no-deps", "--target", new, *wheels.glob("*.whl")])
        new.rename(folder)
        for old in sorted(BENCH_FOLDER.glob("ruda-*"), key=os.path.getmtime)[:-3]:
            shutil.rmtree(old, ignore_errors=True)
    behind = BENCH_FOLDER.parent / f"cp{sys.version_info.major}{sys.version_info.minor}"
    return {"PYTHONPATH": str(folder), "MESONPY_EDITABLE_SKIP": str(behind)}


def command_fuzz(arguments: Sequence[str]) -> int:
    """Give one reader broken bytes; what makes it fail is kept in build/fuzz."""
    if not arguments or arguments[0].startswith("-"):
        raise Stop("fuzz needs the NAME of a reader, such as safetensors or pytorch-zip")
    setup("test")
    python = bench_python()
    known = subprocess.run([python, "-c", "import atheris"], capture_output=True, check=False)
    if known.returncode:
        say(f"installing {FUZZER} into {BENCH_VENV.name}")
        words = [python, "-m", "pip", "install", "-qq", FUZZER]
        if subprocess.run(words, env=environment(BENCH_VENV), check=False).returncode:
            say("atheris cannot be installed here: random changes serve instead")
    folder = ROOT / "build" / "fuzz" / arguments[0]
    script = ROOT / "tests" / "fuzz" / "fuzz.py"
    return call([python, script, *arguments, "--folder", folder], environment(BENCH_VENV))


def command_shot(arguments: Sequence[str]) -> int:
    """Grab one screen of the workbench."""
    parser = argparse.ArgumentParser(prog="dev.py shot", description="Grab one screen as a PNG.")
    parser.add_argument("screen", nargs="?", help="without it, the screens are listed")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--scale", choices=["1", "2"], default="1")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    setup("app")
    check_qt(with_display=False)
    env = {**environment(), "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": options.scale}
    if options.screen is None:
        return call([venv_python(), "-m", "ruda_workbench.shots", "--list"], env)
    out = options.out or ROOT / "shots" / f"{options.screen}-{options.theme}-{options.scale}.png"
    out = out.absolute()
    out.parent.mkdir(parents=True, exist_ok=True)
    words = [options.screen, "--theme", options.theme, "--out", out]
    code = call([venv_python(), "-m", "ruda_workbench.shots", *words], env)
    if code == 0:
        say(f"wrote {out}")
    return code


def command_changes(arguments: Sequence[str]) -> int:
    """Check, print or release the change notes."""
    return call([sys.executable, ROOT / "packaging" / "changes.py", *arguments], dict(os.environ))


COMMANDS = {
    "app": command_app,
    "test": command_test,
    "setup": command_setup,
    "cli": command_cli,
    "bench": command_bench,
    "fuzz": command_fuzz,
    "shot": command_shot,
    "changes": command_changes,
}


def main(arguments: Sequence[str]) -> int:
    """Call the named command and give its exit code. Raises Stop."""
    if sys.version_info < OLDEST:
        raise Stop(
            f"Ruda needs Python {OLDEST[0]}.{OLDEST[1]} or newer, this is {sys.version.split()[0]}"
        )
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    if command is None:
        raise Stop(f"no command {arguments[0]!r}; there are: {' '.join(COMMANDS)}")
    return command(arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Stop as stop:
        say(str(stop))
        sys.exit(stop.code)
    except KeyboardInterrupt:
        sys.exit(130)
