# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console scripts of the package."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest
import tenon

EXAMPLE = Path(__file__).parents[2] / "examples" / "residual.mlir"


def run(tool, *arguments, code=None, **options):
    """Run a console script as pip's wrapper does."""
    command = code or f"import sys; from tenon.tools import {tool} as main; sys.exit(main())"
    env = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        [sys.executable, "-c", command, *map(str, arguments)], env=env, capture_output=True, text=True, **options
    )


def test_entry_points():
    scripts = {e.name: e for e in distribution("tenon-compiler").entry_points if e.group == "console_scripts"}
    assert scripts.keys() == {"tenon-bench", "tenon-compile", "tenon-import", "tenon-opt", "tenon-run"}
    assert all(callable(entry.load()) for entry in scripts.values())


@pytest.mark.parametrize("tool", ["tenon_compile", "tenon_opt", "tenon_run"])
def test_version(tool):
    result = run(tool, "--version")
    assert result.returncode == 0 and tenon.__version__ in result.stdout


def test_opt_reads_standard_input():
    result = run("tenon_opt", "--tenon-fuse-epilogue", input=EXAMPLE.read_text())
    assert result.returncode == 0 and "tenon.fused_linear" in result.stdout


def test_compile_and_run(tmp_path):
    library = tmp_path / "libresidual.so"
    result = run("tenon_compile", EXAMPLE, "-o", library, "--reference")
    assert (result.returncode, result.stderr) == (0, "")
    result = run("tenon_run", library, "--check")
    assert result.returncode == 0, result.stderr
    exe = tenon.load(library)
    assert [spec.name for spec in exe["forward"].inputs] == ["x", "gate", "weight", "bias"]


def test_exit_codes(tmp_path):
    result = run("tenon_compile", tmp_path / "gone.mlir")
    assert result.returncode != 0 and "gone.mlir" in result.stderr


def test_a_tool_that_is_not_there(tmp_path):
    shutil.copy(Path(tenon.__file__).parent / "tools.py", tmp_path)
    result = run("", code="import tools; tools.tenon_opt()", cwd=tmp_path)
    assert result.returncode == 1 and "tenon-opt: cannot run" in result.stderr and "reinstall" in result.stderr


def test_what_is_advised_to_install():
    """On PyPI the name `tenon` is a stranger's package: messages and pages name the wheel's file."""
    root = Path(__file__).parents[2]
    if not (root / "lib").is_dir():
        pytest.skip("there are no sources here")
    folders = [root / name for name in ("benchmarks", "docs", "examples", "lib", "python_bindings", "scripts", "tools")]
    kinds = (".cpp", ".h", ".md", ".py", ".td", ".txt")
    files = [*root.glob("*.md"), *(path for folder in folders for path in folder.rglob("*") if path.suffix in kinds)]
    text = {path: re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8")) for path in files}  # strings in pieces
    stranger = re.compile(
        r"(?:pip|uv)\d? +(?:install|add)\b[^\n]*?[ '\"]tenon(?:\[|['\"\s]|$)|(?<![\w-])tenon\[(?:cuda|torch)\]"
    )
    assert len(files) > 100
    assert [f"{path.relative_to(root)}: {found[0]}" for path in text for found in stranger.finditer(text[path])] == []


def test_advice_where_cuda_is_missing(monkeypatch):
    monkeypatch.setenv("TENON_CUDA_PATH", "/nowhere")
    with pytest.raises(tenon.CompileError, match=r"pip install 'dist/tenon_compiler-\.\.\.\.whl\[cuda\]'"):
        tenon.compile(EXAMPLE, "sm_80")


def test_advice_where_pytorch_is_missing(monkeypatch, capsys):
    from tenon.bench import cli

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(SystemExit):
        cli.check_device(None)
    assert capsys.readouterr().err.rstrip().endswith("PyTorch is not installed; run: pip install torch")
