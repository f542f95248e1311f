import pathlib
import sys

# The tests run from the sources, without an installation.
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "src"))


def pytest_configure(config):
    # An installed package has registered its plug-in itself, which pytest refuses the second time.
    if not config.pluginmanager.has_plugin("orlop"):
        config.pluginmanager.import_plugin("orlop_test.pytest_plugin")
