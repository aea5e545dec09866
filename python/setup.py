# SPDX-License-Identifier: GPL-3.0-or-later
"""With the library beside it the package is for one platform, and for every Python."""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class Package(Distribution):
    def has_ext_modules(self) -> bool:
        return Path("speclab/libspeclab.so.0").exists()


class Wheel(bdist_wheel):
    """Tagged py3-none-PLATFORM: cffi in ABI mode needs no extension module."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


setup(distclass=Package, cmdclass={"bdist_wheel": Wheel})
