"""``python -m assistlearn``: the program."""

from assistlearn.cli import main

if __name__ == "__main__":
    main()
