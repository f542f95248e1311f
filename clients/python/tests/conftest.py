import pathlib
import sys

# The tests run from the sources, without an installation.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "src"))

pytest_plugins = ["orlop_test.pytest_plugin"]
