"""`python -m pacopt`: the command line without its console script."""

from pacopt.app.cli import main

if __name__ == "__main__":
    main()
