"""A bound of your own: Hoeffding's, held against those that come with pacopt, on one table.

A theorem of the exponential-family form says what its statistics and natural parameters are. The posterior, the minimum
over lambda and its price follow. That the moment of the exponent is at most 1 is for the author of the bound to prove.
"""

import numpy as np

import pacopt
from pacopt import bounds
from pacopt.statement import up  # rounding to the safe side


class Hoeffding(pacopt.AbstractLinearBound):
    theorem, assumptions = "Hoeffding 1963", ()

    def statistics(self, table):
        z = table.safeguarded()
        return np.stack([-z.mean(axis=1), np.ones(len(z))], axis=1)

    def natural_parameters(self, lam, n):
        return np.array([lam, -(lam**2) / (8 * n)])


# Sixteen step sizes of gradient descent on a thousand quadratics.
law = pacopt.VaryingCurvature.draw(seed=0)
candidates = {"step_size": np.geomspace(1e-5, 1e-3, 16)}
table = pacopt.tabulate(law.problem, pacopt.GradientDescent(), candidates, law.sample(1000, seed=1), steps=50)
prior = pacopt.DiscreteMeasure.uniform(candidates)

# Each bound has a parameter that is minimised over a grid fixed in advance; the grid has its price.
fractions = -np.expm1(-np.geomspace(0.01, 6.0, 24))
contenders = {
    "Hoeffding": (Hoeffding(), pacopt.Grid.geometric(10.0, 10_000.0, 24)),
    "Bernstein": (bounds.Bernstein(), pacopt.Grid.geometric(0.01, 0.9, 24)),
    "Catoni": (bounds.Catoni(), pacopt.Grid.geometric(0.01, 6.0, 24)),
    "Betting": (bounds.Betting(fractions), pacopt.Grid.uniform(fractions)),
}
print(f"{'bound':<12}{'E_Q mu at most':>16}{'training mean':>16}{'KL':>8}  edge of the grid")
for name, (bound, grid) in contenders.items():
    found = pacopt.search_grid(bound, table, prior, grid, epsilon=0.01)
    mean = found.posterior.expectation(table.safeguarded().mean(axis=1))
    print(f"{name:<12}{up(found.value):>16}{mean:>16.4g}{found.posterior.kl(prior):>8.3f}  {found.at_edge}")
