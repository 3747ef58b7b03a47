# Part of the Tenon project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the package keeps what C programs that use a compiled model are built with."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def get_include() -> str:
    """Return the folder of C headers: `tenon-c/Model.h`, `tenon-c/Compiler.h` and `dlpack/dlpack.h`.

    The header that `Executable.save` and `tenon.torch.aot_compile` write includes the first:

        cc main.c libmodel.so -I$(python3 -c "import tenon; print(tenon.get_include())") ...
    """
    return str(_PACKAGE / "include")


def get_library_dir() -> str:
    """Return the folder of `libtenon_runtime.so.0`, which compiled models need, and `libtenon_compiler.so`.

    The runtime's file has no other name: link it with `-L<folder> -l:libtenon_runtime.so.0`. At run
    time it is looked for beside the model; `-Wl,-rpath,<folder>` has the program find it here.
    """
    return str(_PACKAGE / "lib")
