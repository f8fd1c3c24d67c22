"""A monitor is told the scores of a certified algorithm in use, and says when chance no longer explains them."""

import json
import math
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacopt.certificate import Certificate
from pacopt.claims.base import Watched
from pacopt.engines.solution import Solution
from pacopt.errors import MonitorError
from pacopt.monitoring.asking import amount, check_rate, checked_number, mean_of
from pacopt.monitoring.evidence import Evidence
from pacopt.support.arrays import digest
from pacopt.support.numbers import is_whole
from pacopt.support.rounding import counted
from pacopt.support.whole import whole

SCHEMA = "pacopt.monitor/1"
#: An alarm is raised this much beyond its threshold, which is more than rounding can move evidence.
ROUNDING = 1e-6


class Monitor:
    """Watches claims of a certificate on instances in use, in their order.

    By default there is at most one false alarm in `every` instances on average (Shiryaev & Roberts); after an alarm,
    `restart()` starts over. With `ever` instead, for example 0.01, the probability of ever raising a false alarm is
    at most that (Ville), but late changes take longer to detect. Both assume that the certificate
    holds, which it does with its confidence. Several claims share the false alarms equally.

    An alarm says that the certificate and its assumptions cannot all be true of these instances any more: they come
    from another distribution, depend on each other, or the certificate is one of the few that are wrong. It does not
    say which. Find out what changed, collect new instances, and learn again.
    """

    def __init__(
        self,
        watched: Mapping[str, Watched],
        *,
        every: float | None = None,
        ever: float | None = None,
        certificate: str = "",
        verdicts: bool = False,
        grouped: bool = False,
    ) -> None:
        if every is None and ever is None:
            every = 1e5
        check_rate(every, ever)
        self._watched, self._every, self._ever = dict(watched), every, ever
        self._certificate, self._verdicts = certificate, verdicts
        # The mean of a group may be a fraction; a run succeeds or not.
        self._binary = frozenset(name for name, each in watched.items() if each.binary and not grouped)
        self._evidence = {name: Evidence.against(each.most) for name, each in watched.items()}
        self._number, self._count, self._alarms, self._alarm = 0, 0, 0, False
        self._lock = threading.Lock()

    @staticmethod
    def of(
        certificate: Certificate,
        claims: str | Sequence[str] | None = None,
        *,
        every: float | None = None,
        ever: float | None = None,
    ) -> "Monitor":
        """A monitor of one or several claims of a certificate; by default of its objective.

        >>> import numpy as np, pacopt
        >>> ratios = np.random.default_rng(0).beta(1, 20, size=(3, 500))
        >>> certificate = pacopt.certify(pacopt.LossTable(ratios, np.ones(500)))
        >>> monitor = Monitor.of(certificate)
        >>> monitor.update(0.03)
        False
        """
        if not isinstance(certificate, Certificate):
            raise MonitorError(
                f"A {type(certificate).__name__} was given.",
                "A monitor watches the claims of a certificate.",
                "",
                "Use learned.monitor(), or pacopt.Monitor.of(learned.certificate).",
            )
        design = certificate.design
        if not isinstance(claims, str | list | tuple | None):
            raise MonitorError(f"claims is {claims!r}.", "Claims go by their names.", "", 'Use ["risk", "success"].')
        named = [design.objective.name] if claims is None else [claims] if isinstance(claims, str) else list(claims)
        if not named or len(set(named)) < len(named):
            raise MonitorError(f"claims is {claims!r}.", "Each claim is named once.", "", "Leave it out.")
        watched = {}
        for name in named:
            claim, value = design[name], certificate.deployed.values[name]
            found = None if value is None else claim.watched(value, design)
            if found is None:
                raise MonitorError(
                    f"{claim.shown(value)} is certified for the claim {name!r}.",
                    "Only a claim that bounds the mean of a score between 0 and 1 can be watched.",
                    "",
                    "Watch another claim.",
                )
            watched[name] = found
        return Monitor(
            watched,
            every=every,
            ever=ever,
            certificate=identity(certificate),
            verdicts=certificate.user_success,
            grouped=certificate.grouped,
        )

    def update(self, score: "float | Solution | Sequence[float | Solution]", *, number: int | None = None) -> bool:
        """Take the score of the next instance, or the result of `solve`, and say whether there is an alarm.

        The watched claim bounds the mean of this score: z between 0 and 1 for the mean score; for success, 1 for a run
        that failed or did not succeed, else 0. A list is one group, whose mean counts. `number` counts
        instances and must increase: an instance that comes twice or too late is rejected. Leave out an instance that
        was not recorded, which is sound if whether it is recorded does not depend on its score.
        """
        runs = score if isinstance(score, list | tuple) else (score,)
        scores = {name: mean_of([self._score(name, run) for run in runs]) for name in self._watched}
        with self._lock:
            if number is not None and (not is_whole(number) or number <= self._number):
                raise MonitorError(
                    f"Instance number {number!r} comes after number {self._number}.",
                    "Instances are numbered from 1 on, and their scores are given in this order, each of them once.",
                    "Evidence that is counted twice, or in an order that depends on the scores, is not evidence.",
                    "Leave out the scores that were given before.",
                )
            self._number = self._number + 1 if number is None else int(number)
            self._count += 1
            for name, z in scores.items():
                self._evidence[name].add(z)
            if not self._alarm and self._log_evidence() >= self._log_threshold():
                self._alarm, self._alarms = True, self._alarms + 1
            return self._alarm

    def restart(self) -> None:
        """Continue after an alarm, with no evidence of a change."""
        with self._lock:
            if self._ever is not None:
                raise MonitorError(
                    f"The monitor promises that the probability of ever raising a false alarm is at most {self._ever}.",
                    "It cannot be restarted.",
                    "Every restart would be another chance of a false alarm.",
                    "Use every=... for a monitor that can be restarted.",
                )
            for evidence in self._evidence.values():
                evidence.restart()
            self._alarm = False

    @property
    def alarm(self) -> bool:
        """Whether there has been an alarm since the last start."""
        return self._alarm

    @property
    def evidence(self) -> float:
        """The evidence of the claim with the most of it; an alarm is raised when it reaches `threshold`."""
        with self._lock:
            return math.exp(min(self._log_evidence(), 700.0))

    @property
    def threshold(self) -> float:
        """Where an alarm is raised: the mean time to a false one, or 1 over the probability of ever raising one."""
        return float(self._every or 1.0) if self._ever is None else 1 / self._ever

    @property
    def count(self) -> int:
        """The number of instances so far."""
        return self._count

    @property
    def alarms(self) -> int:
        """The number of alarms so far."""
        return self._alarms

    @property
    def watches(self) -> tuple[str, ...]:
        """The names of the claims."""
        return tuple(self._watched)

    @property
    def summary(self) -> dict[str, Any]:
        """A summary, as a JSON value."""
        return {
            "alarm": self.alarm,
            "claims": list(self.watches),
            "evidence": self.evidence,
            "instances": self.count,
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        if not self._count:
            return "Nothing was watched: no score has been given yet."
        claim = max(self._evidence, key=lambda name: self._log_of(self._evidence[name]))
        told = f"{counted(self._count, 'instance')}, evidence {amount(self.evidence)} of {amount(self.threshold)}"
        told += f" against the claim {claim!r}"
        if not self._alarm:
            return f"No alarm: {told}."
        return (
            f"ALARM: {told}. The certificate and what it rests on cannot all be true of these instances: they come "
            "from another distribution, depend on each other, or the certificate is one of the few that are wrong. "
            "Look at what changed, collect new instances, and learn again."
        )

    def __repr__(self) -> str:
        return f"Monitor({', '.join(self._watched)}; {self})"

    def to_dict(self) -> dict[str, Any]:
        """Its state as a JSON value."""
        with self._lock:
            return {
                "alarm": self._alarm,
                "alarms": self._alarms,
                "certificate": self._certificate,
                "count": self._count,
                "ever": self._ever,
                "every": self._every,
                "evidence": {name: each.to_dict() for name, each in self._evidence.items()},
                "number": self._number,
                "schema": SCHEMA,
            }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write its state, completely or not at all."""
        target = Path(path)
        try:
            with whole(target) as file:
                file.write((json.dumps(self.to_dict(), sort_keys=True) + "\n").encode())
        except OSError as error:
            raise MonitorError(
                f"{target} could not be written: {error}.", "The state needs a file.", "", "Name another one."
            ) from error

    @staticmethod
    def load(path: str | os.PathLike[str], certificate: Certificate) -> "Monitor":
        """A monitor that continues where a saved one stopped; that of another certificate is rejected."""
        try:
            value = json.loads(Path(path).read_text(encoding="utf-8"))
            if value["schema"] != SCHEMA:
                raise ValueError(f"its schema is {value['schema']!r}")
            if value["certificate"] != identity(certificate):
                raise MonitorError(
                    f"{os.fspath(path)} is the state of the monitor of another certificate.",
                    "Evidence is gathered against the claims of one certificate.",
                    "It says nothing about those of another.",
                    "Use the state that was saved for this one, or start without one.",
                )
            monitor = Monitor.of(certificate, [*value["evidence"]], every=value["every"], ever=value["ever"])
            evidence = {name: Evidence.from_dict(each) for name, each in value["evidence"].items()}
            if any(evidence[name].most != each.most for name, each in monitor._watched.items()):
                raise ValueError("its claims are others")
            counts = [value[name] for name in ("number", "count", "alarms")]
            if not all(map(is_whole, counts)) or not isinstance(value["alarm"], bool):
                raise ValueError("its counts are not whole numbers")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, MonitorError):
                raise
            raise MonitorError(
                f"{os.fspath(path)} is not the state of a monitor: {error}.",
                "A file written by Monitor.save is needed.",
                "",
                "Start without a state.",
            ) from error
        monitor._evidence = evidence
        monitor._number, monitor._count, monitor._alarms = counts
        monitor._alarm = value["alarm"]
        return monitor

    def _score(self, name: str, run: Any) -> float:
        if isinstance(run, Solution):
            if self._verdicts and self._watched[name].by_verdict:
                raise MonitorError(
                    "Success is your own verdict here, which a solution does not contain.",
                    "The score is 0 for a run that succeeded and 1 for one that did not.",
                    "",
                    "Call update(0) or update(1).",
                )
            return self._watched[name].score(run.outcome, run.start_loss or 0.0)
        return checked_number(run, self.watches, binary=name in self._binary)

    def _log_evidence(self) -> float:
        found = self._evidence.values()
        return max(map(self._log_of, found)) - math.log(len(found))

    def _log_of(self, evidence: Evidence) -> float:
        return evidence.log_restarting if self._ever is None else evidence.log_lasting

    def _log_threshold(self) -> float:
        return math.log(self.threshold) + math.log1p(ROUNDING)


def identity(certificate: Certificate) -> str:
    """A hash of what a certificate says, and not of how many were made before it."""
    return digest([certificate.design.hash, certificate.table_hash, certificate.confidence, certificate.deployed.index])
