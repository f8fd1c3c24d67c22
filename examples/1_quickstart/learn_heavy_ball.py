"""Heavy-ball on random quadratics: learn, certify, compare, save, verify.

The quadratics are those of the fourth experiment of Sucker & Ochs (2023): 50 variables, curvatures up to a largest one
that is drawn anew for each instance. All that is known beforehand is that the instances come from one distribution.
"""

import pacopt

# A law from which instances can be drawn. With data of your own, this would be `pacopt.Instances.load("file.npz")`.
law = pacopt.VaryingCurvature.draw(seed=0)
split = pacopt.split(law.sample(1400, seed=1), prior=200, train=1000, test=200, seed=2)

# Candidates are searched for on the prior part, fixed, and certified on the training part.
learned = pacopt.learn(law.problem, pacopt.HeavyBall(), split, steps=50, min_success=0.9, confidence=0.99)
print(learned.certificate)

# The test part was used for nothing else. These are point estimates, to be held against the bounds above.
print()
print(learned.comparison)

# A run is a directory with everything in it, and `verify` recomputes its numbers by other code.
print()
print(pacopt.verify(learned.save("runs/heavy_ball")))
