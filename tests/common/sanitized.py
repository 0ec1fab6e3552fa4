# SPDX-License-Identifier: Apache-2.0
"""Programs without a sanitizer that load a library with one (make sanitize)."""
import re
import subprocess


def runtime_of(library):
    """The environment in which they run: the sanitizer's own library comes first. Empty if the library has none."""
    m = re.search(r'=> (\S*/lib[at]san\S*)', subprocess.run(['ldd', library], capture_output=True, text=True, check=True).stdout)
    return {'LD_PRELOAD': m[1], 'ASAN_OPTIONS': 'detect_leaks=0'} if m else {}
