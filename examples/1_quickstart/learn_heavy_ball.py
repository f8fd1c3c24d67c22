"""Heavy-ball on random quadratics: learn, certify, compare, save, verify.

The quadratics are those of the fourth experiment of Sucker & Ochs (2023): 50 variables, with a new largest curvature
drawn for each instance. All we know beforehand is that the instances come from one distribution.
"""

import pacopt

# A law to draw instances from. With your own data, this would be `pacopt.Instances.load("file.npz")`.
law = pacopt.VaryingCurvature.draw(seed=0)
split = pacopt.split(law.sample(1400, seed=1), prior=200, train=1000, test=200, seed=2)

# A search on the prior part finds candidates; they are fixed, and certified on the training part.
learned = pacopt.learn(law.problem, pacopt.HeavyBall(), split, steps=50, min_success=0.9, confidence=0.99)
print(learned.certificate)

# The test part was used for nothing else. These are measured means, to compare with the bounds above.
print()
print(learned.comparison)

# A run directory holds everything, and `verify` recomputes its numbers with independent code.
print()
print(pacopt.verify(learned.save("runs/heavy_ball")))
