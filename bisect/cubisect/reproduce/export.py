"""A folder to hand to a vendor: ``case.json``, ``reproduce.c``, ``reproduce.py`` and ``README.md``."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cubisect.analysis.result import percent
from cubisect.errors import InputError
from cubisect.reproduce.c_source import TIMEOUT_S, c_source, environment
from cubisect.reproduce.case import FORMAT, Case, Tally
from cubisect.reproduce.python_source import python_source, unsupported_reason
from cubisect.store import TrialRecord

FILES = ("README.md", "case.json", "reproduce.c", "reproduce.py")

DEADLINE_FACTOR = 20.0
"""A run of the C program is given so many times what the trial took; other machines are slower, no hang is finite."""


def export(
    record: TrialRecord,
    directory: Path,
    *,
    environment: Mapping[str, Any],
    batch_runs: Tally | None = None,
    control_runs: Tally | None = None,
) -> Case:
    """Write the folder of a finished trial and return its case.

    `environment` is the campaign's; `batch_runs` and `control_runs` count runs of the very batch, both ways.

    Raises:
        InputError: the trial has not finished, or the folder holds other files than an earlier export of it.
    """
    case = Case.of(record, environment=environment, batch_runs=batch_runs, control_runs=control_runs)
    write_folder(files_of(case, timeout_s=timeout_of(record)), directory)
    return case


def timeout_of(record: TrialRecord) -> float:
    """Return the deadline of one run in seconds: generous, for a run that takes long is no hang."""
    hung = record.outcome == "hang"
    return TIMEOUT_S if hung else float(round(max(TIMEOUT_S, DEADLINE_FACTOR * record.wall_s)))


def files_of(case: Case, *, timeout_s: float = TIMEOUT_S) -> dict[str, str]:
    """Return the text of every file by name; without ``reproduce.py`` where Python cannot show the trial."""
    spec, facts = case.spec, facts_of(case)
    files = {
        "case.json": json.dumps(case.to_json(), indent=1, ensure_ascii=False) + "\n",
        "reproduce.c": c_source(spec, title=case.title, facts=facts, timeout_s=timeout_s),
    }
    reason = unsupported_reason(spec)
    if reason is None:
        files["reproduce.py"] = python_source(spec, title=case.title, facts=facts, timeout_s=timeout_s)
    files["README.md"] = environment().get_template("README.md.j2").render(
        case=case, spec=spec, batch=spec.batch, facts=facts, departures=spec.point.departures(), python_lacks=reason,
        outcome_status=EXIT_STATUS[case.outcome], copies=copies_text(len(spec.batch)), reason=_sentence(case.reason),
    )  # fmt: skip
    return files


def _sentence(reason: str) -> str:
    """Return a reason as a sentence; the name of a call stays as it is."""
    word = reason.split(" ", maxsplit=1)[0]
    return f"{reason if word != word.lower() else reason[:1].upper() + reason[1:]}." if reason else ""


EXIT_STATUS = {
    "ok": 0, "inconclusive": 3, "error": 10, "segfault": 11, "hang": 12, "async_error": 13, "corrupt": 14, "crash": 15
}  # fmt: skip
"""The exit status of the exported programs by outcome."""


def facts_of(case: Case) -> list[str]:
    """Return what is known of a case, one line each: the batch, the rates both ways, the environment."""
    batch = case.spec.batch
    repeated = f", submitted {case.spec.repetition} times" if case.spec.repetition > 1 else ""
    facts = [f"Batch: {copies_text(len(batch))}, {int(batch.sizes.sum()):,} bytes, {case.spec.direction}{repeated}."]
    for what, tally in (("Batch call", case.batch_runs), ("Per-copy control", case.control_runs)):
        if tally is not None and tally.trials:
            interval = tally.rate(what).interval
            facts.append(
                f"{what}: {tally.failures} of {tally.trials} runs failed (95 %: {percent(interval.low)} to "
                f"{percent(interval.high)})."
            )
    return [*facts, *environment_lines(case.environment)]


def copies_text(count: int) -> str:
    """Return ``1 copy`` or ``1,234 copies``."""
    return "1 copy" if count == 1 else f"{count:,} copies"


def environment_lines(found: Mapping[str, Any]) -> list[str]:
    """Return GPU, driver and CUDA version in words, one line each; none for a simulated driver."""
    driver = found.get("driver") or {}
    lines = [
        f"GPU: {device.get('name', '?')}, compute capability {device.get('compute_capability', '?')}, "
        f"VBIOS {device.get('vbios') or 'unknown'}."
        for device in (driver.get("devices") or [])[:1]
    ]
    cuda = driver.get("cuda_version")
    if driver.get("driver_version") or cuda:
        supports = f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else "unknown"
        lines.append(f"Driver: {driver.get('driver_version') or 'unknown'}, CUDA {supports}.")
    return lines


def write_folder(files: Mapping[str, str], directory: Path) -> None:
    """Write the files into a folder that is new or empty, or over an earlier export of the same batch.

    What else lies there stays.

    Raises:
        InputError: the folder holds files but no earlier export of this batch, or cannot be written.
    """
    try:
        if directory.exists() and any(directory.iterdir()) and not _holds_case(directory, files["case.json"]):
            raise InputError(
                f"{directory} holds other files, or the case of another batch; give an empty or a new folder by -o"
            )
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=directory, prefix=".writing-") as staging:
            for name, text in files.items():
                (Path(staging) / name).write_text(text, encoding="utf-8")
            for name in FILES:
                if name in files:
                    (Path(staging) / name).replace(directory / name)
                else:
                    (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{directory} cannot be written: {error.strerror}; give another folder by -o") from error


def _holds_case(directory: Path, new: str) -> bool:
    """Tell whether the folder has an earlier export of the batch that `new`, a ``case.json``, is of."""
    try:
        data = json.loads((directory / "case.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("format") == FORMAT and data.get("batch") == json.loads(new)["batch"]
