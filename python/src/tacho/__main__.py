"""python -m tacho ARGS: the program, with these arguments."""
import sys

from ._program import become

if __name__ == "__main__":
    become(sys.argv[1:])
