"""Which instructions CTranslate2 computes with: AVX-512 wherever the processor has it, unless people say otherwise."""

import os
from pathlib import Path

import pytest

from regard.exchange import ctranslate2_runtime
from regard.exchange.ctranslate2_runtime import has_avx512, library
from regard.translation.engines.ctranslate2 import available

ALL = "avx512f avx512dq avx512cd avx512bw avx512vl"


def cpu_info(folder: Path, flags: str) -> Path:
    path = folder / "cpuinfo"
    path.write_text(f"processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 {flags}\n\nprocessor\t: 1\n")
    return path


def test_a_processor_has_avx512_if_it_has_all_parts_of_it(tmp_path: Path) -> None:
    assert has_avx512(cpu_info(tmp_path, ALL))
    for part in ALL.split():
        assert not has_avx512(cpu_info(tmp_path, ALL.replace(part, "")))
    assert not has_avx512(tmp_path / "missing")


@pytest.mark.skipif(not available(), reason="ctranslate2 is not installed: pip install 'regard[fast]'")
@pytest.mark.parametrize(
    ("flags", "given", "used"), [(ALL, None, "AVX512"), (ALL, "AVX2", "AVX2"), ("sse4_1", None, None)]
)
def test_ctranslate2_is_told_to_use_avx512_unless_people_chose_other_instructions(
    flags: str, given: str | None, used: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctranslate2_runtime, "_CPU_INFO", cpu_info(tmp_path, flags))
    monkeypatch.setenv("CT2_FORCE_CPU_ISA", given or "")
    if given is None:
        monkeypatch.delenv("CT2_FORCE_CPU_ISA")
    assert library().__name__ == "ctranslate2"
    assert os.environ.get("CT2_FORCE_CPU_ISA") == used
