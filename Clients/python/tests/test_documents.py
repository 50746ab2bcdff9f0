"""Tests of the examples in the documents. Each `python` block is a test file, or several files if their names are in
comments, or a program if it has no tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest

PACKAGE = Path(__file__).parents[1]
DOCUMENTS = [PACKAGE / "README.md", *(PACKAGE.parents[1] / "docs").glob("python.md")]


def blocks() -> List[object]:
    found: List[object] = []
    for document in DOCUMENTS:
        text = document.read_text()
        for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, block.start()) + 2
            found.append(pytest.param(block[1], id=f"{document.name}:{line}"))
    return found


@pytest.mark.parametrize("block", blocks())
def test_an_example(pytester: pytest.Pytester, block: str) -> None:
    if not re.search("^def test_", block, re.MULTILINE):
        subprocess.run([sys.executable, "-c", block], check=True, cwd=pytester.path)
        return
    files = re.split(r"^# (\w+\.\w+)\n", block, flags=re.MULTILINE)
    named = dict(zip(files[1::2], files[2::2])) if len(files) > 1 else {"test_example.py": block}
    for name, content in named.items():
        (pytester.path / name).write_text(content)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=len(re.findall("^def test_", block, re.MULTILINE)))
