"""Tables made by the workers of a Dask cluster, on any number of machines."""

from pacopt.engines.cluster.cluster import Cluster, supply

__all__ = ["Cluster", "supply"]
