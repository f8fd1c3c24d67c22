"""Which tests share a worker: those of a file, which share its fixtures and what JAX has compiled for them.

In place of `--dist loadgroup`, whose marks pytest 9.2 and xdist 3.8 silently ignore (pytest-dev/pytest-xdist#1386):
every fixture of a module was made by both workers. Files with many tests begin, single tests come last, so both
workers end at about the same time.
"""

from xdist.scheduler import LoadScopeScheduling

#: Files that look at the same reports, each of which is learned and drawn once.
TOGETHER = {"tests/browser/test_report_in_browser.py": "reports", "tests/unit/test_report.py": "reports"}
#: Files whose tests share nothing: each goes where there is room.
APART = ("tests/house/", "tests/theorem/", "tests/reference/", "tests/simulation/")


class ByFile(LoadScopeScheduling):
    """One unit of work for each file or group of files, and for each test of a file whose tests share nothing."""

    def _split_scope(self, nodeid):
        path = nodeid.split("::")[0]
        return nodeid if path.startswith(APART) else TOGETHER.get(path, path)
