"""What the engine for JAX annotates is what runs: checking it costs a fifth of the time, so it is done here once."""

from pathlib import Path

from alone import run_fresh

TESTS = Path(__file__).parents[1]


def test_annotated_shapes_and_types_hold_in_tables_curves_learning_and_solving():
    code = f"""
        import sys
        sys.path.insert(0, {str(TESTS)!r})
        import annotations_checked
        import pacopt
        from cases import ALGORITHMS, PROBLEMS, candidates_for
        quick = pacopt.priors.Search(candidates=16, explore=1, rounds=1)
        for number in range(max(len(PROBLEMS), len(ALGORITHMS))):  # each of both once; all pairs in `make slow`
            case, (algorithm, _) = PROBLEMS[number % len(PROBLEMS)], ALGORITHMS[number % len(ALGORITHMS)]
            candidates = candidates_for(algorithm, case.step_size, 3)
            table = pacopt.tabulate(case.problem, algorithm, candidates, case.sample(5, 0), steps=3)
            assert table.shape == (3, 5)
        parts = pacopt.split(case.sample(60, 1), prior=20, train=30, test=10, seed=0)
        learned = pacopt.learn(case.problem, algorithm, parts, steps=3, prior=quick)
        print(learned.solve(parts.test[0]).loss <= 1.0)
        try:
            pacopt.engines.traced.precision.in_precision("b", "no array", table.losses.dtype)
        except Exception as error:
            print(type(error).__name__)
    """
    assert run_fresh(code).split() == ["True", "TypeCheckError"], "what is not as annotated is noticed"
