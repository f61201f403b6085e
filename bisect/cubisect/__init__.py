"""Find the law behind failures of CUDA's batch memory copy, ``cuMemcpyBatchAsync``."""

__version__ = "0.1.0"
