"""Deblurring: the law, its loss and minima by independent code, and what is learned for it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

import pacopt
from pacopt.errors import AlgorithmError, ProblemError
from pacopt.families import Patches, deblurring
from pacopt.families.deblurring_minima import proven_minima
from pacopt.families.deblurring_model import Deblurring, FourierCoordinates, FourierModel, SteepestCoordinates
from pacopt.families.patches import blurred, gaussian, moved, psnr, shipped_pictures
from pacopt.families.split_bregman import SplitBregman, mixed
from pacopt.space import Interval
from stepping import path

EDGE, RIDGE, N = 0.01, 1e-4, 12


def drawn_pictures():
    """Three pictures with edges and slopes."""
    down, right = np.mgrid[:40, :50] / 50.0
    return [
        0.2 + 0.6 * (down > right) + 0.1 * right,
        0.5 + 0.4 * np.sin(9 * down) * np.cos(7 * right),
        np.where((down - 0.4) ** 2 + (right - 0.5) ** 2 < 0.06, 0.9, 0.3),
    ]


LAW = Patches(tuple(drawn_pictures()), size=N)
INSTANCES = LAW.sample(6, seed=0)


def value_and_gradient(x, instance):
    """The loss of the docstring, pixel by pixel, without a Fourier transform."""
    kernel, weight = instance["kernel"], instance["weight"]
    residual = blurred(x[None], kernel[None])[0] - instance["b"]
    right, down = np.roll(x, -1, 1) - x, np.roll(x, -1, 0) - x
    size = np.sqrt(right**2 + down**2 + EDGE**2)
    loss = 0.5 * np.sum(residual**2) + weight * np.sum(size - EDGE) + 0.5 * RIDGE * np.sum(x**2)
    right, down = right / size, down / size
    slope = np.roll(right, 1, 1) - right + np.roll(down, 1, 0) - down
    return loss, blurred(residual[None], kernel[None, ::-1, ::-1])[0] + weight * slope + RIDGE * x


def ratios(algorithm, hyper, instances=INSTANCES, steps=25):
    candidate = {name: np.asarray(value)[None] for name, value in hyper.items()}
    return pacopt.tabulate(Deblurring(), algorithm, candidate, instances, steps=steps).ratios()[0]


def test_the_same_seed_draws_the_same_and_another_one_others():
    fields, sharp = LAW.draws(6, seed=0)
    np.testing.assert_array_equal(INSTANCES.fields["b"], fields["b"])
    assert not np.isin(LAW.draws(6, seed=1)[0]["b"], fields["b"]).any()
    assert sharp.min() >= 0
    assert sharp.max() <= 1
    noise = np.std(fields["b"] - blurred(sharp, fields["kernel"]), axis=(1, 2))
    np.testing.assert_allclose(30 * noise**2, fields["weight"], rtol=0.4)


def test_a_kernel_sums_to_one_and_a_motion_blurs_along_its_direction():
    for kernel in (gaussian(1.3), moved(7.9, 0.0), moved(5.0, 1.1), moved(3.0, np.pi)):
        assert kernel.sum() == pytest.approx(1)
        assert kernel.min() >= 0
    np.testing.assert_allclose(moved(6.0, 0.0).sum(axis=1), np.eye(9)[4], atol=1e-12)
    np.testing.assert_allclose(moved(6.0, np.pi / 2), moved(6.0, 0.0).T, atol=1e-12)


def test_the_loss_is_that_of_its_docstring_and_so_is_its_gradient():
    rng = np.random.default_rng(3)
    for size in (N, 13):
        instance = Patches(tuple(drawn_pictures()), size=size).draws(1, seed=4)[0]
        instance, x = {name: array[0] for name, array in instance.items()}, rng.random((size, size))
        loss, gradient = value_and_gradient(x, instance)
        with jax.enable_x64(True):
            ours = jax.value_and_grad(Deblurring().loss)(jnp.asarray(x), jax.tree.map(jnp.asarray, instance))
        assert float(ours[0]) == pytest.approx(loss, rel=1e-12)
        np.testing.assert_allclose(ours[1], gradient, atol=1e-12)


def test_the_regulariser_of_a_nearly_flat_picture_has_all_its_digits():
    x = 1e-7 * np.random.default_rng(5).random((N, N))
    nothing = {"b": np.zeros((N, N)), "kernel": np.ones((1, 1)), "weight": np.float64(1e12)}
    right, down = np.roll(x, -1, 1) - x, np.roll(x, -1, 0) - x
    slopes = np.longdouble(right) ** 2 + np.longdouble(down) ** 2
    exact = np.sum(slopes / (np.sqrt(slopes + np.longdouble(EDGE) ** 2) + EDGE))
    with jax.enable_x64(True):
        loss = float(Deblurring().loss(jnp.asarray(x), jax.tree.map(jnp.asarray, nothing)))
    assert loss == pytest.approx(float(1e12 * exact), rel=1e-10)


def test_minima_are_lower_bounds_and_an_independent_solver_comes_as_near_as_it_can():
    for instance in INSTANCES:
        start, _ = value_and_gradient(instance["b"], instance)

        def flat(x, instance=instance):
            loss, gradient = value_and_gradient(x.reshape(N, N), instance)
            return loss, gradient.ravel()

        options = {"maxiter": 5000, "maxfun": 5000, "ftol": 0, "gtol": 1e-9, "maxcor": 30}
        found = minimize(flat, np.full(N * N, 0.5), jac=True, method="L-BFGS-B", options=options)
        assert -1e-14 < found.fun - instance["minimum"] < 1e-9 * (start - instance["minimum"])


def test_the_gap_proves_itself_at_any_point():
    """Strong convexity: whatever x is, loss(x) - |gradient|^2 / (2 ridge) is no more than the minimum."""
    rng = np.random.default_rng(0)
    bounds, points = proven_minima(Deblurring(), LAW.draws(6, seed=0)[0])
    for instance, bound, point in zip(INSTANCES, bounds, points, strict=True):
        for x in (point, point + 1e-6 * rng.normal(size=(N, N)), rng.random((N, N))):
            loss, gradient = value_and_gradient(x, instance)
            assert loss >= bound
            assert loss - np.sum(gradient**2) / (2 * RIDGE) <= value_and_gradient(point, instance)[0]
        loss, gradient = value_and_gradient(point, instance)
        start = value_and_gradient(instance["b"], instance)[0]
        assert loss - bound < 1e-12 * (start - loss) + 1e-13 * loss
        assert np.sum(gradient**2) / (2 * RIDGE) < 1e-12 * (start - loss)


def test_no_curvature_is_larger_than_the_one_that_the_textbook_divides_by():
    problem = Deblurring()
    with jax.enable_x64(True):
        for instance in INSTANCES[:3]:
            one = jax.tree.map(jnp.asarray, instance)
            for x in (one["b"], jnp.full((N, N), 0.5)):
                hessian = jax.hessian(lambda x, one=one: problem.loss(x.reshape(N, N), one))(x.ravel())
                spectrum = np.linalg.eigvalsh(hessian)
                assert spectrum[0] >= RIDGE * (1 - 1e-6)
                assert spectrum[-1] <= float(problem.steepest(one)) * (1 + 1e-9)
        # On a flat picture the model is exact.
        flat = {"scale": 1.0, "smoothness": 1.0, "floor": 0.0, "edges": 0.0}
        vector = jnp.asarray(np.random.default_rng(0).normal(size=(N, N)))
        model = FourierModel(problem).solved(
            (hessian @ vector.ravel()).reshape(N, N), x, flat, pacopt.Objective(problem, one)
        )
        np.testing.assert_allclose(model, vector, atol=1e-7)


def test_the_half_quadratic_method_divides_by_its_majoriser_in_fourier_space():
    method, instance = pacopt.Transformed(pacopt.GradientDescent(), FourierCoordinates()), INSTANCES[0]
    points = path(method, Deblurring(), instance, 10, step_size=1.0)
    padded = np.zeros((N, N))
    padded[:9, :9] = instance["kernel"]
    blur = np.abs(np.fft.fft2(padded)) ** 2
    wave = 2 - 2 * np.cos(2 * np.pi * np.arange(N) / N)
    divisor = blur + instance["weight"] / EDGE * (wave[:, None] + wave) + RIDGE
    x, losses = instance["b"], []
    for point in points:
        np.testing.assert_allclose(point, x, atol=1e-10)
        loss, gradient = value_and_gradient(x, instance)
        losses.append(loss)
        x = x - np.fft.ifft2(np.fft.fft2(gradient) / divisor).real
    assert np.all(np.diff(losses) < 0)


def test_gradient_descent_of_the_textbook_takes_one_over_its_own_lipschitz_constant():
    instance = INSTANCES[1]
    points = path(
        pacopt.Transformed(pacopt.GradientDescent(), SteepestCoordinates()), Deblurring(), instance, 5, step_size=1.0
    )
    x = instance["b"]
    for _ in range(5):
        x = x - value_and_gradient(x, instance)[1] / (1 + 8 * instance["weight"] / EDGE + RIDGE)
    np.testing.assert_allclose(points[-1], x, atol=1e-12)


class Diagonal(pacopt.AbstractHessianModel):
    numbers = {"floor": (0.5, Interval(1e-3, 10.0, log=True))}

    def solved(self, vector, x, hyper, objective):
        return vector / (1.0 + hyper["floor"] * jnp.arange(len(x)))


class Counter:
    count = 0

    def tick(self):
        self.count += 1


class Bowl(pacopt.AbstractProblem):
    """sum(cosh(d x - 1) - 1), and how often it was evaluated."""

    counter: Counter = eqx.field(static=True, default_factory=Counter)

    def start(self, instance):
        return instance["start"]

    def loss(self, x, instance):
        jax.debug.callback(self.counter.tick)
        return jnp.sum(jnp.cosh(instance["d"] * x - 1.0) - 1.0)


def bfgs_by_hand(instance, step, momentum, floor, steps, memory):
    """The BFGS matrix of the last pairs, written out; a move that ends higher is made again, shorter."""
    d, x = instance["d"], instance["start"]

    def evaluated(x):
        return np.sum(np.cosh(d * x - 1) - 1), d * np.sinh(d * x - 1)

    (value, g), pairs, points = evaluated(x), [], [x]
    lowest, best = value, x

    def newton():
        H = np.diag(1 / (1 + floor * np.arange(len(d))))
        for s, y in pairs[-memory:] if memory else []:
            left = np.eye(len(d)) - np.outer(s, y) / (s @ y)
            H = left @ H @ left.T + np.outer(s, s) / (s @ y)
        return H @ g

    move = -step[0] * newton()
    for k in range(steps):
        there, slope = evaluated(x + move), g @ move
        pairs.append((move, there[1] - g))
        if there[0] < lowest:
            lowest, best = there[0], x + move
        points.append(best)
        if there[0] > value:
            move = np.clip(-slope / 2 / (there[0] - value - slope), 0.1, 0.5) * move
            continue
        x, (value, g) = x + move, there
        plain = -step[k + 1] * newton()
        both = plain + momentum[k + 1] * move
        move = both if both @ g < 0 else plain
    return np.array(points)


@pytest.mark.parametrize("memory", [0, 3])
@pytest.mark.parametrize("size", [0.7, 3.0], ids=["moves that descend", "moves that are made again"])
def test_modelled_newton_is_bfgs_from_the_model_with_one_gradient_a_step(memory, size):
    rng, steps = np.random.default_rng(1), 8
    instance = {"d": 1 + np.arange(5) / 2, "start": rng.normal(size=5)}
    hyper = {"floor": 0.7, "step_size": rng.uniform(0.7, 1.3, steps + 1) * size, "momentum": rng.normal(size=9) / 5}
    problem, method = Bowl(), pacopt.ModelledNewton(Diagonal(), steps + 1, memory=memory)
    points = path(method, problem, instance, steps, **hyper)
    jax.effects_barrier()
    assert problem.counter.count == steps + 1
    theirs = bfgs_by_hand(instance, hyper["step_size"], hyper["momentum"], 0.7, steps, memory)
    np.testing.assert_allclose(points, theirs, rtol=1e-9, atol=1e-12)


def test_in_coordinates_of_the_instance_an_algorithm_does_what_it_does_in_a_metric():
    class Halved(pacopt.AbstractCoordinates):
        def applied(self, z, instance):
            return z / instance["d"]

    instance = {"d": 1 + np.arange(5) / 2, "start": np.ones(5)}
    ours = path(pacopt.Transformed(pacopt.LBFGS(), Halved()), Bowl(), instance, 8)
    theirs = path(pacopt.Preconditioned(pacopt.LBFGS(), 1 / instance["d"]), Bowl(), instance, 8)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.wrong_types
def test_names_that_are_taken_and_memories_that_are_none_are_refused():
    class Taken(Diagonal):
        numbers = {"step_size": (1.0, Interval(0.1, 1.0))}

    with pytest.raises(AlgorithmError, match="another name"):
        pacopt.ModelledNewton(Taken(), 5)
    with pytest.raises(AlgorithmError, match="memory is -1"):
        pacopt.ModelledNewton(Diagonal(), 5, memory=-1)
    with pytest.raises(AlgorithmError, match="draws no random numbers"):
        pacopt.Transformed("L-BFGS", FourierCoordinates())


def test_with_a_memory_the_model_is_worth_more_than_its_fixed_part_on_average():
    family = deblurring(drawn_pictures(), size=N)
    rule, usual = family.algorithm, family.usual["half-quadratic (Geman-Yang)"]
    ours, theirs = ratios(rule, rule.initial(0), steps=15), ratios(usual.algorithm, usual.hyper, steps=15)
    assert ours.mean() < 0.1 * theirs.mean()
    assert np.all(theirs < 1)


def test_patches_of_a_picture_are_a_group_and_a_draw_is_a_picture():
    grouped = LAW.by_picture(2, seed=3)
    assert len(grouped) == 6
    assert grouped.count == 3


def test_pictures_ship_with_scikit_image_and_others_are_checked():
    pictures = shipped_pictures()
    assert len(pictures) == 18
    assert all(each.ndim == 2 and each.min() >= 0 and each.max() <= 1 for each in pictures)
    assert len(deblurring().sample.__self__.pictures) == 18
    with pytest.raises(ProblemError, match="rgb2gray"):
        deblurring([np.zeros((50, 50, 3))])
    with pytest.raises(ProblemError, match="at least 32 x 32"):
        deblurring([np.zeros((50, 20))])
    with pytest.raises(ProblemError, match="0 pictures"):
        deblurring([])
    assert psnr(np.full((2, 4, 4), 0.1), np.zeros((2, 4, 4))) == pytest.approx([20.0, 20.0])


def test_what_is_known_after_a_solve_only_is_not_read():
    class Cheat(Diagonal):
        def solved(self, vector, x, hyper, objective):
            return vector * (1.0 + 0.0 * objective.instance["minimum"]) * hyper["floor"]

    with pytest.raises(AlgorithmError, match="reads the field 'minimum'"):
        ratios(pacopt.ModelledNewton(Cheat(), 3), pacopt.ModelledNewton(Cheat(), 3).initial(0), steps=3)


def test_a_rule_that_was_fixed_beforehand_is_certified():
    family = deblurring(drawn_pictures(), size=N).sized(prior=5, train=60, test=0)
    rule = family.algorithm
    fixed = pacopt.DiscreteMeasure.uniform({name: np.asarray(value)[None] for name, value in rule.initial(0).items()})
    learned = pacopt.learn(
        family.problem,
        rule,
        family.drawn(1),
        steps=10,
        prior=fixed,
        score=pacopt.Digits(8),
        baseline=None,
        progress=False,
    )
    assert 1.0 < 8 - learned.certificate.deployed.risk < 8.0


@pytest.mark.slow
def test_training_gains_digits():
    family = deblurring(drawn_pictures(), size=16).sized(prior=60, train=300, test=10)
    recipe = pacopt.priors.Train(updates=60, batch=4, rate=0.05, restarts=1, candidates=2, clip=0.6)
    untrained = pacopt.Baseline(family.algorithm.initial(0), family.algorithm)
    learned = pacopt.learn(
        family.problem, family.algorithm, family.drawn(1), steps=25, prior=recipe, score=pacopt.Digits(12),
        baseline=untrained, progress=False,
    )  # fmt: skip
    assert learned.certificate.deployed.gain > 0


@pytest.mark.parametrize(("size", "memory"), [(N, 0), (13, 0), (N, 10)])
def test_split_bregman_starts_where_everybody_does_and_finds_the_minimum(size, memory):
    law = Patches(tuple(drawn_pictures()), size=size)
    instances = law.sample(3, seed=4)
    for row in range(3):
        instance = {name: values[row] for name, values in instances.fields.items()}
        ends = [SplitBregman(law.problem, steps, memory=memory)({}, instance) for steps in (25, 2000)]
        start = value_and_gradient(instance["b"], instance)[0] - instance["minimum"]
        assert ends[0].start_loss == pytest.approx(start, rel=1e-9)
        assert ends[1].loss < 1e-9 * start
        assert ends[1].loss < ends[0].loss < 0.1 * start


def test_andersons_mixing_solves_linear_equations_in_as_many_steps_as_there_are_unknowns():
    rng = np.random.default_rng(0)
    matrix, offset = 0.1 * rng.normal(size=(8, 8)), rng.normal(size=8)
    solution = np.linalg.solve(np.eye(8) - matrix, offset)
    points, images, s = [], [], np.zeros((2, 2, 2))
    for _ in range(10):
        points.append(s)
        images.append((matrix @ s.ravel() + offset).reshape(s.shape))
        s = mixed(points, images)
    assert np.abs(s.ravel() - solution).max() < 1e-6
    assert np.abs(images[-1].ravel() - solution).max() < 1e-4 * np.abs(images[1].ravel() - solution).max()
    assert np.array_equal(mixed(points[:1], images[:1]), images[0])


def test_mixing_ends_lower_than_split_bregman_alone():
    law = Patches(tuple(drawn_pictures()), size=16)
    rows = [dict(row) for row in law.sample(20, seed=4)]
    plain, with_memory = (
        np.array([SplitBregman(law.problem, 25, penalty=0.1, memory=memory)({}, row).loss for row in rows])
        for memory in (0, 10)
    )
    assert np.mean(np.log(with_memory) < np.log(plain)) > 0.7
