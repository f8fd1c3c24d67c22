"""Which fields of an instance a run depends on."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from pacopt.engines.traced.cell import Cell
from pacopt.engines.traced.precision import in_precision, precision
from pacopt.engines.traced.static import as_run
from pacopt.instances import Instances


def as_seen(cell: Cell, values: Mapping[str, np.ndarray], instances: Instances, dtype: np.dtype[Any]) -> Instances:
    """The instances as runs see them: only the fields they depend on, in the precision of the run.

    Two rows that differ in anything else, such as a serial number, are the same instance. If runs depend on every
    field, the instances are returned unchanged.
    """
    cast = {name: in_precision(name, array, dtype) for name, array in instances.fields.items()}
    with precision(dtype):
        one = {name: jax.numpy.asarray(value[0]) for name, value in values.items()}
        seed = jax.numpy.zeros(2 if cell.random else 0, dtype=np.uint32)
        first = {name: jax.numpy.asarray(array[0]) for name, array in cast.items()}
        run = as_run(cell)
        traced = jax.make_jaxpr(lambda fields: run.run(one, fields, run.start_loss(fields)[0], seed))(first)
    # A function that is passed all fields at once counts as reading all of them.
    used = {id(variable) for equation in traced.jaxpr.eqns for variable in equation.invars}
    used |= {id(variable) for variable in traced.jaxpr.outvars}
    read = [name for name, variable in zip(sorted(cast), traced.jaxpr.invars, strict=True) if id(variable) in used]
    if len(read) == len(cast) and all(cast[name].dtype == instances.fields[name].dtype for name in cast):
        return instances
    return Instances({name: cast[name] for name in read} or {"nothing": np.zeros(len(instances))}, instances.groups)
