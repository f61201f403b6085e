"""The commands of docs/answers.md run, and the notebooks say what the library says."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from cubisect.cli import run

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = re.findall(
    r"^    bisect ((?:analyze|compare|trials|campaigns|show) .+)$",
    (ROOT / "docs" / "answers.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a copy of the reference databases, so that reading leaves the tree alone."""
    (tmp_path / "notebooks").mkdir()
    for path in (ROOT / "db" / "reference").glob("*.sqlite"):
        (tmp_path / "db" / "reference").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, tmp_path / "db" / "reference")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("copy")
def test_command_of_the_page_runs(command: str) -> None:
    assert run(command.split()) == 0


def printed(notebook: nbformat.NotebookNode) -> str:
    """Return what the cells printed, in however many pieces it came."""
    return "".join(o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_says_again_what_it_said(path: Path, copy: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    before = printed(notebook)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(copy / "notebooks")}}
    ).execute()
    assert before == printed(notebook)
    assert "h200-busy-boundary" in before
