"""`python -m hitpath`."""

from hitpath.cli import main

main()
