"""The version of the package, which is the program's: build_wheel.py writes it from CMakeLists.txt."""
__version__ = "0.1.0"
