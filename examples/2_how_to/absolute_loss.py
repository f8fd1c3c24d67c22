"""A bound on the mean loss itself, not on its ratio to the start, and what you have to declare for it.

No bound on a mean follows from a sample alone, since a rare and enormous loss may have gone unseen. You have to know
something about the start loss: a bound, its second moment, or its law. `Truncation` says which.
"""

from dataclasses import replace

import numpy as np

import pacopt
from pacopt.statement import up  # rounding to the safe side

law = pacopt.VaryingCurvature.draw(seed=0)
start_loss = law.right_hand_side  # here the law of the start loss is known in closed form
split = pacopt.split(law.sample(1400, seed=1), prior=200, train=1000, test=200, seed=2)

# A level far in the tail, and what we know about the part beyond it.
level = 3 * start_loss.mean_start_loss()
theta_max = 1 / np.linalg.eigvalsh(start_loss.covariance).max()
declarations = {
    "second moment": pacopt.Truncation.from_second_moment(level, start_loss.mean_square_start_loss()),
    "law": pacopt.Truncation.from_law(level, start_loss.log_mgf_start_loss, theta_max, "b is normal, law known"),
}

# Without a declaration only ratios are certified. The two designs below differ from that of `learn` in the declaration
# and its share of epsilon. Like everything in a design, both are chosen before looking at the training instances.
prior = pacopt.priors.Search(candidates=64)
learned = pacopt.learn(law.problem, pacopt.HeavyBall(), split, steps=50, prior=prior, baseline=None)
shares = pacopt.Shares(risk=0.4, success=0.2, quantile=0.2, absolute=0.2)
for name, truncation in declarations.items():
    design = replace(learned.certificate.design, shares=shares, truncation=truncation)
    certificate = pacopt.certify(learned.table, design)
    declared = certificate.ledger[-1]
    print(f"Declared, {name}: {declared.text} ({declared.status})")
    print(
        f"  mean loss at most {up(certificate.deployed.absolute)}, mean ratio at most {up(certificate.deployed.risk)}"
    )
print(f"On the test split the mean loss is {learned.comparison['learned'].mean_loss:.0f}.")
print(f"At the start the mean is {start_loss.mean_start_loss():.0f}.")
