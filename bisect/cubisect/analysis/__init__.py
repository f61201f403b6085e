"""What recorded trials say: pure functions on a data frame.

`summary.analyze` bundles everything on one campaign, `compare.compare` sets two side by side, `factors.Isolation` plans
and judges an isolation. Every other module answers one question and returns a frozen result with a sentence (`answer`)
and a form for JSON (`to_json`). Nothing is imported here: scikit-learn takes a second to load, and most commands do
without it.
"""
