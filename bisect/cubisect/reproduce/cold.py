"""Run one exported case in this very process: ``python -m cubisect.reproduce.cold case.json``.

For debuggers: nothing is forked, and whatever the driver does happens here. The phase reached goes to standard error.
"""

import sys
from pathlib import Path

from cubisect import drivers
from cubisect.drivers.base import SetupError
from cubisect.errors import BisectError, ExitCode
from cubisect.outcome import Phase
from cubisect.reproduce.case import read_case


class Printed:
    """Progress that a person, or the parser of a debugger's output, reads."""

    def enter(self, phase: Phase, repetition: int = 0) -> None:
        """Print the phase that begins."""
        sys.stderr.write(f"phase {phase.label} {repetition}\n")
        sys.stderr.flush()


def main(arguments: list[str]) -> int:
    """Run the case in the file named by the only argument; return the exit status."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m cubisect.reproduce.cold case.json\n")
        return ExitCode.BAD_INPUT
    try:
        case = read_case(Path(arguments[0]))
        driver = drivers.load(case.driver)
        driver.warm_up(case.spec.gpu)
        report = driver.run(case.spec, Printed())
    except (BisectError, SetupError) as error:
        sys.stderr.write(f"{error}\n")
        return ExitCode.BAD_ENVIRONMENT
    sys.stderr.write(f"{report.api} {report.cuda_error_name}, {report.mismatched_bytes} bytes differ\n")
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
