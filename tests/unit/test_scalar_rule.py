"""The heavy-ball method of scalars, step by step."""

import numpy as np

from rules import RULES, STEPS, Shifted, curves, quadratics, same, some_numbers

RULE = RULES["heavy-ball"]


def test_adding_a_number_to_the_loss_changes_the_first_step_alone():
    class Raised(Shifted):
        def loss(self, x, instance):
            return 1.0 + Shifted.loss(self, x, instance)

    fields = quadratics()
    raised = curves(RULE, fields, problem=Raised()) - 1.0
    start, gradient = (
        curves(RULE, fields)[:, 0],
        np.array([A.T @ (A @ x - b) for A, b, x in zip(fields["A"], fields["b"], fields["x0"], strict=True)]),
    )
    length = np.exp(-0.4) * (1 + start) / np.sum(gradient**2, axis=1)
    moved = fields["x0"] - length[:, None] * gradient
    expected = [0.5 * np.sum((A @ x - b) ** 2) for A, b, x in zip(fields["A"], fields["b"], moved, strict=True)]
    np.testing.assert_allclose(raised[:, 1], expected, rtol=1e-9)


def by_hand(A, b, x, hyper):
    """The rule in NumPy, as its docstring says it."""
    losses, top, s, last = [0.5 * np.sum((A @ x - b) ** 2)], 0.0, np.zeros_like(x), np.zeros_like(x)
    for k in range(STEPS):
        g = A.T @ (A @ x - b)
        if k == 0:
            step, momentum = np.exp(hyper["first"]) * losses[0] / (g @ g), 0.0
        else:
            y = g - last
            top = max(top, y @ y / (s @ y))
            scalars = [
                np.log(s @ y / (s @ s) / top),
                np.log(y @ y / (s @ y) / top),
                g @ s / np.linalg.norm(g) / np.linalg.norm(s),
                g @ last / np.linalg.norm(g) / np.linalg.norm(last),
                np.log(np.linalg.norm(g) / np.linalg.norm(last)),
                k / STEPS,
                np.cos(np.pi * k / STEPS),
            ]
            for name in ("first", "second"):
                layer = hyper["network"][name]
                scalars = np.tanh(np.asarray(scalars) @ layer[:-1] + layer[-1])
            out = scalars @ hyper["network"]["last"] + hyper["schedule"][k]
            step, momentum = np.exp(out[0]) / top, 1 / (1 + np.exp(-out[1]))
        s, last = momentum * s - step * g, g
        x = x + s
        losses.append(0.5 * np.sum((A @ x - b) ** 2))
    return losses


def test_it_does_what_its_docstring_says():
    fields = quadratics()
    rows = zip(fields["A"], fields["b"], fields["x0"], strict=True)
    same(curves(RULE, fields), np.array([by_hand(*row, some_numbers(RULE)) for row in rows]))
