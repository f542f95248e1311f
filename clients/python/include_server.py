"""Puts the server into a wheel that is built with ORLOP_BIN set."""

import os
import sysconfig

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class IncludeServer(BuildHookInterface):
    """Adds the program, and marks the wheel as one for this platform."""

    def initialize(self, version, build_data):
        server = os.environ.get("ORLOP_BIN")
        if not server:
            return
        build_data["force_include"][server] = "orlop_test/bin/apiserver"
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
