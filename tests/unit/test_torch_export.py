"""What was learned does in torch what it does here, without JAX. `make slow` installs torch."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import exported
import pacopt
from alone import run_fresh
from exported import ALL, BY_ARRAY, INSTANCES, PAIR, PAIRED, STEPS, learned, paired, reached, rule
from pacopt.errors import ExportError, StorageError
from pacopt.exporting.to_torch import optimizer_of

#: Language, title and content of a block of code.
BLOCK = r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def torch():
    import torch

    return torch


def start(torch, column=0, dtype=None):
    """Parameters at the start, and the loss of an instance as a function of them."""
    x = [torch.zeros(exported.N, dtype=dtype or torch.float64, requires_grad=True)]
    data = {name: torch.as_tensor(np.array(array)) for name, array in INSTANCES[column].items()}

    def loss():
        return 0.5 * ((data["diagonal"] * x[0] - data["b"]) ** 2).sum()

    return x, loss


def closing(optimizer, loss):
    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    return closure


def run(torch, kind, column=0, steps=None):
    """The loss at the end of a run, and the optimizer."""
    x, loss = start(torch, column)
    optimizer = kind(x)
    closure = closing(optimizer, loss)
    for _ in range(kind.updates if steps is None else steps):
        optimizer.step(closure)
    return optimizer.finish(closure), optimizer


@pytest.mark.parametrize("name", ALL)
def test_torch_reaches_the_losses_of_the_table(name, torch):
    algorithm, hyper = ALL[name]
    before, losses = reached(algorithm, hyper)
    kind = optimizer_of(rule(algorithm, hyper))
    assert issubclass(kind, torch.optim.Optimizer)
    for column in range(3):
        found, _ = run(torch, kind, column)
        assert found == pytest.approx(losses[column], rel=1e-9, abs=1e-15 * before[column])


def logistic(torch, bias, weights):
    data = {name: torch.as_tensor(np.array(array)) for name, array in PAIRED[0].items()}
    margin = data["y"] * (data["X"] @ weights + bias)
    return torch.nn.functional.softplus(-margin).mean() + PAIR.ridge * (weights**2).sum()


@pytest.mark.parametrize("name", BY_ARRAY)
def test_a_point_with_several_arrays_is_a_tensor_for_each_or_one_for_all(name, torch):
    kind = optimizer_of(paired(*BY_ARRAY[name]))
    _, losses = reached(*BY_ARRAY[name], problem=PAIR, instances=PAIRED)
    for shapes in (((), (4,)), ((5,),)):
        x = [torch.zeros(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
        optimizer = kind(x)
        closure = closing(optimizer, lambda x=x: logistic(torch, *(x if len(x) == 2 else (x[0][0], x[0][1:]))))
        for _ in range(kind.updates):
            optimizer.step(closure)
        assert optimizer.finish(closure) == pytest.approx(losses[0], rel=1e-9)


def test_parameters_in_another_order_are_refused(torch):
    kind = optimizer_of(paired(*BY_ARRAY["lamb"]))
    assert "bias of the shape [], weights of the shape [4], in this order." in kind.__doc__
    for shapes in (((4,), ()), ((2,), (3,)), ((1, 5),)):
        with pytest.raises(ExportError, match=r"They are bias of the shape \[\], weights of the shape \[4\], in this"):
            kind([torch.zeros(shape, requires_grad=True) for shape in shapes])


def test_gradients_alone_will_do_for_a_rule_that_uses_nothing_else(torch):
    algorithm, hyper = ALL["HeavyBall"]
    x, loss = start(torch)
    optimizer = optimizer_of(rule(algorithm, hyper))(x)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert float(loss().detach()) == pytest.approx(reached(algorithm, hyper)[1][0], rel=1e-9)
    assert optimizer.finish(closing(optimizer, loss)) == pytest.approx(float(loss().detach()), rel=1e-12)


def test_float32_parameters_stay_float32(torch):
    algorithm, hyper = ALL["Adam"]
    x, loss = start(torch, dtype=torch.float32)
    kind = optimizer_of(rule(algorithm, hyper))
    with pytest.warns(UserWarning, match="Parameters are float32, and the certificate speaks of float64"):
        optimizer = kind(x)
    assert "another precision than float64" in kind.__doc__
    closure = closing(optimizer, loss)
    for _ in range(STEPS):
        optimizer.step(closure)
    assert x[0].dtype == torch.float32
    assert optimizer.finish(closure) == pytest.approx(reached(algorithm, hyper)[1][0], rel=1e-4)


def test_a_run_that_ends_above_its_start_returns_to_the_start(torch):
    kind = optimizer_of(rule(pacopt.GradientDescent(), {"step_size": 1.0}))
    x, loss = start(torch)
    before = float(loss().detach())
    optimizer = kind(x)
    closure = closing(optimizer, loss)
    for _ in range(STEPS):
        optimizer.step(closure)
    assert float(loss().detach()) > before
    assert optimizer.finish(closure) == before
    assert not any(each.any() for each in x)


def test_a_run_goes_on_from_its_state(torch):
    for name in ("ScalarRule", "BarzilaiBorwein", "Adam"):
        kind = optimizer_of(rule(*ALL[name]))
        whole, _ = run(torch, kind)
        x, loss = start(torch)
        first = kind(x)
        for _ in range(4):
            first.step(closing(first, loss))
        second = kind(x)
        second.load_state_dict(first.state_dict())
        for _ in range(kind.updates - 4):
            second.step(closing(second, loss))
        assert second.finish(closing(second, loss)) == pytest.approx(whole, rel=1e-12)


def test_more_steps_than_certified_are_refused_for_a_schedule_and_told_for_others(torch):
    with pytest.raises(ExportError, match=f"Step {STEPS + 1} is asked for, and Schedule has numbers for {STEPS}"):
        run(torch, optimizer_of(rule(*ALL["Schedule"])), steps=STEPS + 1)
    algorithm, hyper = ALL["HeavyBall"]
    with pytest.warns(UserWarning, match="does not cover"):
        longer, _ = run(torch, optimizer_of(rule(algorithm, hyper)), steps=2 * STEPS)
    assert longer == pytest.approx(reached(algorithm, hyper, 2 * STEPS)[1][0], rel=1e-9)


def test_a_run_is_finished_once_and_at_its_end(torch):
    kind = optimizer_of(rule(*ALL["Nesterov"]))
    x, loss = start(torch)
    optimizer = kind(x)
    closure = closing(optimizer, loss)
    for _ in range(4):
        optimizer.step(closure)
    with pytest.warns(UserWarning, match=f"speaks of {STEPS} steps, and this run ends after 4"):
        early = optimizer.finish(closure)
    assert early == pytest.approx(reached(*ALL["Nesterov"], 4)[1][0], rel=1e-9)
    with pytest.raises(ExportError, match="step was called after finish"):
        optimizer.step(closure)


def test_a_step_without_a_gradient_is_no_step(torch):
    kind = optimizer_of(rule(*ALL["HeavyBall"]))
    x, loss = start(torch)
    optimizer = kind(x)
    with pytest.raises(ExportError, match="No parameter has a gradient"):
        optimizer.step()
    with pytest.raises(ExportError, match="The closure returns None"):
        optimizer.step(lambda: loss().backward())
    closure = closing(optimizer, loss)
    for _ in range(kind.updates):
        optimizer.step(closure)
    assert optimizer.finish(closure) == pytest.approx(reached(*ALL["HeavyBall"])[1][0], rel=1e-9)


def test_there_are_no_parameters_but_those_given_first(torch):
    x, _ = start(torch)
    optimizer = optimizer_of(rule(*ALL["HeavyBall"]))(x)
    with pytest.raises(ExportError, match="Pass all parameters at once"):
        optimizer.add_param_group({"params": [torch.zeros(3, requires_grad=True)]})


def test_what_torch_hands_over_has_to_fit(torch):
    kind = optimizer_of(rule(*ALL["ScalarRule"]))
    with pytest.raises(ExportError, match=r"The parameters have the shapes \[3\]"):
        kind([torch.zeros(3, requires_grad=True)])
    x, loss = start(torch)
    loss().backward()
    with pytest.raises(ExportError, match="without a closure"):
        kind(x).step()


def test_it_carries_its_certificate(torch):
    kind = learned().as_torch()
    assert kind.certificate == learned().certificate.to_dict()["hash"]
    assert set(kind.claims) == set(learned().certificate.sentences.values())
    assert f"A run is {STEPS} calls of step()" in kind.__doc__


SCRIPT = """
import json, sys
import torch
import pacopt

data = {name: torch.tensor(values, dtype=torch.float64) for name, values in json.loads(sys.argv[1]).items()}
Optimizer = pacopt.load_torch(sys.argv[2])
x = torch.zeros(len(data["b"]), dtype=torch.float64, requires_grad=True)
optimizer = Optimizer([x])

def closure():
    optimizer.zero_grad()
    loss = 0.5 * ((data["diagonal"] * x - data["b"]) ** 2).sum()
    loss.backward()
    return loss

for _ in range(Optimizer.updates):
    optimizer.step(closure)
print(optimizer.finish(closure), "jax" in sys.modules)
"""


def test_a_saved_rule_runs_where_there_is_no_jax(torch, tmp_path):
    algorithm, hyper = ALL["QuasiNewtonRule"]
    optimizer_of(rule(algorithm, hyper)).save(tmp_path / "rule.npz")
    data = json.dumps({name: array.tolist() for name, array in INSTANCES[1].items()})
    code = SCRIPT.replace("sys.argv[1]", repr(data)).replace("sys.argv[2]", repr(str(tmp_path / "rule.npz")))
    loss, imported = run_fresh(code).split()
    assert float(loss) == pytest.approx(reached(algorithm, hyper)[1][1], rel=1e-9)
    assert imported == "False"


def test_the_scripts_of_the_page_agree(torch, tmp_path, monkeypatch):
    """The page says it for SciPy and for torch: both end at the same loss."""
    page = Path(__file__).parents[2] / "docs" / "export.md"
    blocks = re.findall(BLOCK, page.read_text(), flags=re.MULTILINE | re.DOTALL)
    plain, titled = [block for _, title, block in blocks if not title], [block for _, title, block in blocks if title]
    monkeypatch.chdir(tmp_path)
    printed = run_fresh("\n".join([*plain[:2], *titled])).split()
    assert float(printed[-1]) == pytest.approx(float(printed[0]), rel=1e-9)


def test_another_file_is_no_rule(torch, tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    with pytest.raises(StorageError, match="no optimizer"):
        pacopt.load_torch(tmp_path / "other.npz")
