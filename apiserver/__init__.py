"""HTTP and API machinery, commands and the composition root of gpuclass-apiserver."""

__version__ = "0.1.0.dev0"
