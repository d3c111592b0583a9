"""`python -m footplate`."""

from footplate.main import main

if __name__ == "__main__":
    main()
