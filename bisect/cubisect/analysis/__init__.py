"""What recorded trials say: pure functions on a data frame.

`analyze` bundles everything on one campaign; `compare` sets two side by side. The modules beneath each answer one
question and return a frozen result with a sentence (`answer`) and a form for JSON (`to_json`).
"""

from cubisect.analysis.answers import Answer
from cubisect.analysis.compare import Change, Comparison, compare
from cubisect.analysis.sequential import SequentialTest, SequentialVerdict
from cubisect.analysis.summary import Analysis, analyze
from cubisect.analysis.threshold import Finding

__all__ = [
    "Analysis",
    "Answer",
    "Change",
    "Comparison",
    "Finding",
    "SequentialTest",
    "SequentialVerdict",
    "analyze",
    "compare",
]
