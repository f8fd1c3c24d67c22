"""How XLA compiles in the process of the tests."""

import os

#: Most of the time would go into optimising programs that run once: with emitters of fused loops, compiling a training
#: takes several times as long.
QUICK = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",  # threads that compile: workers have a core each
)
#: The level has a name of its own: the process that starts the workers reads this file too.
LEVEL = os.environ.get("XLA_LEVEL")
FLAGS = " ".join(QUICK) if LEVEL is None else f"--xla_backend_optimization_level={LEVEL}"
