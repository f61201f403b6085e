"""The exported C program, built against the stand-in `libcuda`."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cubisect.reproduce.c_source import c_source
from cubisect.space import Point
from cubisect.trial import TrialSpec

STAND_IN = Path(__file__).parent.parent / "fakecuda" / "include"
CASES = Path(__file__).parents[2] / "docs" / "cases"
TOOLKIT = Path("/usr/local/cuda/include")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

Build = Callable[..., Path]


@pytest.fixture
def compile_c(tmp_path: Path, fake_cuda: Callable[..., dict[str, str]]) -> Build:
    """Return a function that compiles the text of a C program; `include` is the folder of cuda.h."""

    def build(text: str, *, include: Path = STAND_IN) -> Path:
        folder = tmp_path / f"build{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "reproduce.c").write_text(text)
        compiler = shutil.which("gcc") or "cc"
        library = ["-L", fake_cuda()["LD_LIBRARY_PATH"], "-l:libcuda.so.1"]
        command = [compiler, "-O1", *WARNINGS, "-I", include, "-o", folder / "reproduce", folder / "reproduce.c"]
        subprocess.run([str(part) for part in (*command, *library)], check=True)
        return folder / "reproduce"

    return build


@pytest.fixture
def build_c(compile_c: Build) -> Build:
    """Return a function that exports a trial as C and compiles it."""

    def build(spec: TrialSpec, *, include: Path = STAND_IN, timeout_s: float = 20.0) -> Path:
        return compile_c(c_source(spec, title="a test", timeout_s=timeout_s), include=include)

    return build


def point_spec(*, seed: int = 5, **values: Any) -> TrialSpec:
    """Return a small trial that differs from the default point as told."""
    return TrialSpec.at(Point.of({"descriptor_count": 60, "total_bytes": 1 << 16, **values}), seed=seed)
