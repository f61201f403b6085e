"""The name `bisect` belongs to the standard library, and the rooms of the trial process stay light."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STDLIB = "import bisect, random; assert bisect.bisect_left([1, 2, 3], 2) == 1; print(bisect.__file__)"


def python(code: str, *options: str, cwd: Path = ROOT, path: str | None = None) -> str:
    env = {"PATH": "/usr/bin:/bin"} if path is None else {"PATH": "/usr/bin:/bin", "PYTHONPATH": path}
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("folder", [".", "bisect", "bisect/cubisect", "tests"])
def test_import_bisect_is_the_standard_librarys(folder: str) -> None:
    """The package is installed editable here, so that this is the editable case from every folder."""
    found = python(STDLIB, cwd=ROOT / folder)
    assert found == python("import bisect; print(bisect.__file__)", "-I", "-S", cwd=Path("/"))


@pytest.mark.parametrize("path", [".", "bisect"])
def test_import_bisect_with_the_folder_on_the_path(path: str) -> None:
    assert python(STDLIB, path=str(ROOT / path)) == python(STDLIB, "-I", "-S", cwd=Path("/"))


def test_import_bisect_beside_a_wheel(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    assert not (site / "bisect").exists()
    code = STDLIB + "; import cubisect; print(cubisect.__file__)"
    stdlib, package = python(code, "-S", cwd=tmp_path, path=str(site)).splitlines()
    assert Path(stdlib).parent.name.startswith("python3")
    assert Path(package) == site / "cubisect" / "__init__.py"


def test_the_source_root_is_no_package() -> None:
    assert not (ROOT / "bisect" / "__init__.py").exists()


LOADED = """
import sys
before = set(sys.modules)
{imports}
own = sorted({{name.partition('.')[0] for name in set(sys.modules) - before}} - sys.stdlib_module_names)
print(' '.join(own))
"""


@pytest.mark.parametrize(
    ("imports", "allowed"),
    [
        ("import cubisect.trial, cubisect.outcome, cubisect.features", {"cubisect", "numpy"}),
        ("from cubisect import drivers; drivers.load('sim:vllm-49276')", {"cubisect", "numpy"}),
        ("from cubisect import drivers; drivers.load('cuda')", {"cubisect", "numpy", "cuda", "cython_runtime"}),
    ],
)
def test_the_trial_process_imports_little(imports: str, allowed: set[str]) -> None:
    loaded = set(python(LOADED.format(imports=imports)).split())
    assert {name for name in loaded if not name.startswith("_")} <= allowed
