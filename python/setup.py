# SPDX-License-Identifier: GPL-3.0-or-later
"""With the library and the program beside it the package is for one platform, and every Python.

The folder `prefix` is what the wheel puts below the environment: bin/speclab, and its files in
share.
"""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

from distutils.command.build_scripts import build_scripts  # setuptools brings it

PREFIX = Path("prefix")


class Package(Distribution):
    def has_ext_modules(self) -> bool:
        return Path("speclab/libspeclab.so.1").exists()


class Wheel(bdist_wheel):
    """Tagged py3-none-PLATFORM: cffi in ABI mode needs no extension module."""

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


class Scripts(build_scripts):
    """Copies programs, which setuptools takes for Python scripts."""

    def run(self) -> None:
        self.mkpath(self.build_dir)
        for script in self.scripts:
            self.copy_file(script, self.build_dir)


setup(
    distclass=Package,
    cmdclass={"bdist_wheel": Wheel, "build_scripts": Scripts},
    scripts=[str(path) for path in PREFIX.glob("bin/*")],
    data_files=[
        (str(folder.relative_to(PREFIX)), [str(f) for f in folder.iterdir() if f.is_file()])
        for folder in PREFIX.glob("share/**/")
    ],
)
