"""`python -m regard`, the same as `regard`."""

from regard.cli import main

if __name__ == "__main__":
    main()
