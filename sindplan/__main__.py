"""`python -m sindplan` is the console script."""

from sindplan.cli.main import main

main()
