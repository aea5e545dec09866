# SPDX-License-Identifier: GPL-3.0-or-later
"""With the library beside it the package is for one platform, and for every Python."""

from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """Tagged py3-none-PLATFORM: cffi in ABI mode needs no extension module."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = not Path("speclab/libspeclab.so.0").exists()

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


setup(cmdclass={"bdist_wheel": Wheel})
