"""kill -9 at random moments of indexing."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found through /proc")
def test_whenever_a_run_is_killed_every_finished_file_is_there_and_no_half_one(tmp_path: Path) -> None:
    run = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, str(TESTS / "knowledge_base" / "killed_runs.py"), str(tmp_path)],
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)]),
            "KILLED_RUNS": uuid.uuid4().hex,
            "TMPDIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["faults"] == []
    assert found["left alive"] == []
    assert found["files"] == ["a.kb"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["docs", "kb"]
    # The moments were spread over a run: kills came before anything was stored, and between one file and the next.
    assert found["killed"] >= 10
    assert len(set(found["stored"])) > 1
