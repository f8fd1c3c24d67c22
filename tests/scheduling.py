"""Which tests share a worker: those of a file, which share its fixtures and what JAX has compiled for them.

In place of `--dist loadgroup`, whose marks pytest 9.2 and xdist 3.8 silently ignore (pytest-dev/pytest-xdist#1386):
every fixture of a module was made by both workers. Files with many tests begin, single tests come last, so both
workers end at about the same time.

A worker that crashes takes one test with it. With xdist alone the run would hang, break off, or crash again in the same
test: xdist deals out units whose tests have all run, asks workers that still collect, and leaves a worker with a single
test, which does not begin before the next one is known.
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

    def remove_node(self, node):
        """The test in which a worker crashed, which has failed; others take up the rest of its work."""
        units = self.assigned_work[node]
        crashed = next((test for unit in units.values() for test, done in unit.items() if not done), None)
        if crashed is not None:
            units[self._split_scope(crashed)][crashed] = True
        self.assigned_work[node] = {scope: unit for scope, unit in units.items() if not all(unit.values())}
        super().remove_node(node)
        return crashed

    def _reschedule(self, node):
        if node not in self.registered_collections:
            return  # a new worker that still collects
        super()._reschedule(node)
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)
