"""``python -m cubisect.cli``: the same as `bisect`."""

from cubisect.cli import main

main()
