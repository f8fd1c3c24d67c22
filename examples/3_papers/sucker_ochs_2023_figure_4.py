"""Figure 4 of Sucker & Ochs (2023): how far the published estimate and the certificate lie above the truth.

This is `pacopt reproduce fig4` from Python. The experiment is a frozen value with its numbers and with verdicts on the
paper's claims, which are computed and can be negative.
"""

from pathlib import Path

from pacopt.papers.sucker_ochs_2023.reproduction import reproduce_one
from pacopt.papers.sucker_ochs_2023.setting import Variant

result = reproduce_one("fig4", out=Path("figures"), seed=0, variant=Variant.TEXT)

print(f"{'number':<24}{'the text says':>30}{'their code':>20}{'here':>12}")
for number, text, code, here in result.comparison:
    print(f"{number:<24}{text:>30}{code:>20}{here:>12.4g}")

print()
for verdict in result.verdicts:
    print(verdict)

print()
print(f"{result.seconds:.1f} s; drawn to {', '.join(str(path) for path in result.files)}")
