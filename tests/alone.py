"""Scripts in processes of their own."""

import os
import subprocess
import sys
import textwrap


def run_alone(code, **environment):
    """The output of a script in a process of its own."""
    script = textwrap.dedent(code)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout
