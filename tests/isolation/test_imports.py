"""What a trial process imports: every fork carries it, and so does every segfault's blame."""

import json
import subprocess
import sys

PROBE = """
import json, sys
before = set(sys.modules)
import cubisect.isolation.zygote
from cubisect import drivers
drivers.load({driver!r})
cubisect.isolation.zygote.exercise()
new = {{name.partition(".")[0] for name in sys.modules if name not in before}}
parts_of_python = ("_cython", "cython_", "_sysconfigdata")  # not distributions: made by Cython, by the build of Python
print(json.dumps([n for n in sorted(new - set(sys.stdlib_module_names)) if not n.startswith(parts_of_python)]))
"""


def imported(driver: str) -> set[str]:
    """Return the top-level packages outside the standard library that a fork server holds."""
    code = PROBE.format(driver=driver)
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def test_a_simulated_trial_imports_numpy_alone() -> None:
    assert imported("sim:null") == {"cubisect", "numpy"}


def test_a_cuda_trial_imports_cuda_bindings_too() -> None:
    assert imported("cuda") == {"cubisect", "numpy", "cuda"}
