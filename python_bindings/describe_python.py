# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print version, folder of headers and suffix of modules of the Python that runs this, for CMake."""

import platform
import sys
import sysconfig

if platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    print(
        "{}.{}".format(*sys.version_info[:2]),
        sysconfig.get_path("include"),
        sysconfig.get_config_var("EXT_SUFFIX"),
        sep=";",
    )
