# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tenon-bench: the command, its report and its chart; the CPU and a clock stand in for the GPU."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from bench_support import Clock, case  # noqa: E402
from tenon.bench import cli, measure, results, timing  # noqa: E402
from tenon.bench.calls import Call, TenonCall  # noqa: E402
from tenon.bench.compilation import compile_all  # noqa: E402
from tenon.bench.table import who  # noqa: E402

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def write(tmp_path, **changes):
    config = {"models": ["bias"], "shapes": [[4, 16, 8]], "dtypes": ["f16", "tf32"], "strategies": ["library"]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config | changes))
    return path


def test_dry_run(tmp_path, capsys):
    config = write(tmp_path, shapes=[[[4, 5], 16, 8]], dynamic_m=True)
    assert cli.main([str(config), "--dry-run", "--target", "sm_80", "--filter", "f16"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "bias-f16-4x16x8-dynamic: cublas, library"
    assert out[-1] == "2 cases, 1 compilations, 0 contenders do not compile"


def test_cpu(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(timing, "WARM_S", 0.01)
    monkeypatch.setattr(timing, "SUSTAINED_S", 0.02)
    monkeypatch.setattr(timing, "UNSETTLED_S", 0.01)
    config = write(tmp_path, dtypes=["f16"], peers=["cublas", "eager"], repeat=1)
    report = tmp_path / "report.json"
    assert cli.main([str(config), "--target=cpu", "-o", str(report), "--table"]) == 0
    assert capsys.readouterr().out.endswith("1 cases measured, 0 contenders wrong, 0 failed\n")
    measured = json.loads(report.read_text())
    assert measured["target"] == "cpu" and measured["environment"]["driver"] is None
    contenders = measured["cases"][0]["contenders"]
    assert [c["name"] for c in contenders] == ["cublas", "eager", "library"]
    assert all(c["within_tolerance"] and c["times"]["burst"]["median_ms"] > 0 for c in contenders)
    flushed = write(tmp_path, dtypes=["f16"], flush=True, repeat=1)
    cli.main([str(flushed), "--target=cpu", "-o", str(report)])
    failed = json.loads(report.read_text())["cases"][0]["contenders"][0]["failed"]
    assert "flush empties a GPU's L2 cache" in failed


def test_strategy_that_was_chosen():
    """The report says what became of a layer, and why; the table, where that is not what was asked for."""
    made = [case(dtypes=[dtype], strategies=[how]) for dtype, how in (("bf16", "tiled"), ("fp32", "auto"))]
    compiled = compile_all(made, "sm_80", lambda items, total: items)
    entries = [
        measure.describe(made_case.contenders[-1], c) for made_case, c in zip(made, compiled.values(), strict=True)
    ]
    assert [entry["strategy"] for entry in entries] == ["tiled", "library"]
    assert [who(entry) for entry in entries] == ["tiled", "auto (library)"]
    assert entries[1]["remarks"][0].startswith("library: ") and entries[0]["kernels"]


def test_dry_run_tells_what_does_not_compile(tmp_path, capsys):
    schedule = (
        "#tenon.schedule<mma_sync, tile = 128x128x64, warps = 2x4, stages = 32, swizzle = 128, raster = 8, blocks = 1>"
    )
    config = write(tmp_path, dtypes=["f16"], schedules=[schedule])
    assert cli.main([str(config), "--dry-run", "--target", "sm_80"]) == 1
    out = capsys.readouterr().out
    assert "  tiled-128x128x64-2x4-32: FAILED CompileError" in out and out.endswith("1 contenders do not compile\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"error: \.: cannot read '\.': Is a directory; expected a JSON configuration"),
        ('{"dtypes": ["f16"], "dtypes": ["tf32"]}', r"error: config\.json: dtypes is there twice in one object"),
        (
            '{"models": ["bias"], "shapes": [[4, 16, 8]], "dtypes": ["f16"], "schedules": ["#tenon.schedule<wgmma>"]}',
            r"error: config\.json: schedules\[0\]: schedule=#tenon\.schedule<wgmma> is not a schedule",
        ),
    ],
)
def test_wrong_configuration(tmp_path, capsys, monkeypatch, text, message):
    """What is wrong with it is told before anything is compiled."""
    monkeypatch.setattr(cli, "compile_all", None)
    monkeypatch.chdir(tmp_path)
    if text:
        Path("config.json").write_text(text)
    with pytest.raises(SystemExit) as left:
        cli.main(["config.json" if text else ".", "--dry-run"])
    assert left.value.code == 2 and re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "where should the report go"),
        (["--dry-run", "--filter", "gone"], "--filter: no case matches 'gone'; cases are like 'bias-f16-4x16x8'"),
        (["--dry-run", "--filter", "("], r"--filter: '\(' is no regular expression"),
        (["--dry-run", "--repeat", "-1"], "--repeat should be"),
        (["--dry-run", "--target", "sm_1"], "--target: there is no 'sm_1'"),
        (["-o", "results.json"], "PyTorch sees no GPU; --target=cpu measures the CPU"),
    ],
)
def test_misuse(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit) as left:
        cli.main([str(write(tmp_path)), *arguments])
    assert left.value.code == 2 and re.search(message, capsys.readouterr().err)


def stand_in(monkeypatch):
    """Have the command measure on the CPU."""
    monkeypatch.setattr(cli, "check_device", lambda target: None)
    monkeypatch.setattr(timing, "copy_rate", lambda: 1e9)
    monkeypatch.setattr(timing, "Gpu", Clock)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(results, "environment", lambda device: {"device": "none", "torch": "2", "date": "2026-01-02T"})
    one = measure.run_case
    monkeypatch.setattr(measure, "run_case", lambda *a: one(*a[:2], "cpu", *a[3:]))


def test_measures_and_reports(tmp_path, capsys, monkeypatch):
    stand_in(monkeypatch)
    output = tmp_path / "results.json"
    assert cli.main([str(write(tmp_path)), "-o", str(output), "--table", "--repeat", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("worst/cuBLAS") and len(out) == 6
    assert out[-1] == "2 cases measured, 0 contenders wrong, 0 failed"
    report = json.loads(output.read_text())
    assert report["copy_bytes_per_s"] == 1e9 and [c["repeat"] for c in report["cases"]] == [1, 1]
    plot = runpy.run_path(str(BENCHMARKS / "plot_bench.py"))
    assert plot["bars"](report, "tf32") == {"bias-tf32-4x16x8": {"library": 1.0}}


def test_exit_code_of_wrong_results(tmp_path, capsys, monkeypatch):
    stand_in(monkeypatch)
    monkeypatch.setattr(TenonCall, "__call__", Call.poison)
    assert cli.main([str(write(tmp_path, dtypes=["f16"])), "-o", str(tmp_path / "r.json")]) == 1
    assert "wrong: bias-f16-4x16x8: library\n1 cases measured, 1 contenders wrong" in capsys.readouterr().out


def test_a_kill_leaves_what_was_measured(tmp_path, monkeypatch):
    stand_in(monkeypatch)
    one, seen = measure.run_case, []

    def killed(case, *rest):
        seen.append(case.name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return one(case, *rest)

    monkeypatch.setattr(measure, "run_case", killed)
    with pytest.raises(KeyboardInterrupt):
        cli.main([str(write(tmp_path)), "-o", str(tmp_path / "r.json")])
    assert [c["name"] for c in json.loads((tmp_path / "r.json").read_text())["cases"]] == seen[:1]


def test_dry_run_needs_no_torch(tmp_path):
    code = "import sys; sys.modules['torch'] = None; from tenon.bench.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(write(tmp_path)), "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_chart(tmp_path):
    pytest.importorskip("matplotlib")
    plot = runpy.run_path(str(BENCHMARKS / "plot_bench.py"))
    contenders = [{"name": "cublas", "worst_time_over_cublas": 1.0}, {"name": "tiled", "worst_time_over_cublas": 1.25}]
    report = {"environment": {"device": "a GPU", "torch": "2.11", "date": "2026-01-02"}}
    report["cases"] = [{"name": "bias-bf16-1x1x1", "contenders": contenders}]
    plot["draw"](report, tmp_path / "chart.svg")
    assert "<!-- bias-bf16-1x1x1 -->" in (tmp_path / "chart.svg").read_text()


@pytest.mark.gpu
def test_on_a_gpu(tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("torch sees no GPU")
    config = write(tmp_path, shapes=[[100, 130, 64], [256, 256, 256]], peers=["cublas", "eager"], repeat=2)
    flushed = json.loads(config.read_text()) | {"flush": True, "models": ["none"]}
    for text in (config.read_text(), json.dumps(flushed)):
        config.write_text(text)
        output = tmp_path / "results.json"
        assert cli.main([str(config), "-o", str(output)]) == 0
        report = json.loads(output.read_text())
        assert len(report["cases"]) == 4 and report["copy_bytes_per_s"] > 1e10
        for measured in report["cases"]:
            assert all(c["times"]["burst"]["median_ms"] > 0 for c in measured["contenders"])


def test_reports_go_to_files_alone(tmp_path, capsys):
    """What is no file is not replaced, and a link is written through."""
    (tmp_path / "link").symlink_to(tmp_path / "absent/report.json")
    for name, problem in (
        ("absent/report.json", "there is no folder"),
        ("link", "there is no folder '.*absent'; make it first"),
        (".", "is there and is not a file; give another path"),
    ):
        with pytest.raises(SystemExit) as exit_:
            cli.check_output("-o", tmp_path / name)
        assert exit_.value.code == 2 and re.search(f"error: -o: .*{problem}", capsys.readouterr().err)
    (tmp_path / "absent").mkdir()
    cli.check_output("-o", tmp_path / "link")
    results.write_whole(tmp_path / "link", {"cases": [1]})
    assert json.loads((tmp_path / "absent/report.json").read_text()) == {"cases": [1]}
    assert (tmp_path / "link").is_symlink() and len(list((tmp_path / "absent").iterdir())) == 1


def test_report_is_written_whole(tmp_path):
    path = tmp_path / "report.json"
    results.write_whole(path, {"cases": [1]})
    with pytest.raises(ValueError, match="JSON compliant"):
        results.write_whole(path, {"cases": [float("nan")]})
    with pytest.raises(TypeError):
        results.write_whole(path, {"cases": [object()]})
    assert json.loads(path.read_text()) == {"cases": [1]} and list(tmp_path.iterdir()) == [path]
    facts = results.environment("cpu")
    assert facts["torch"] == torch.__version__ and facts["driver"] is None
