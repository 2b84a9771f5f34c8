"""``python -m boostrank``."""

from boostrank.cli import main

main()
