"""The README as its tests read it."""

import re
from typing import Final

from fakes.demo import ROOT

README: Final = (ROOT / "README.md").read_text()

#: The blocks for a shell that need a cluster, in their order.
MAKE_CLUSTER: Final = "make cluster\n"
INSTALL: Final = "kubectl apply -k manifests/overlays/cert-manager\n"
_OURS: Final = "--selector app.kubernetes.io/part-of=gpuclass-apiserver"
REMOVE: Final = f"""\
kubectl delete apiservice v1alpha1.options.gpu.cozystack.io
kubectl delete namespace gpuclass-system
kubectl delete rolebinding --namespace kube-system {_OURS}
kubectl delete clusterrole,clusterrolebinding {_OURS}
"""
REMOVE_CRDS: Final = "kubectl delete -k manifests/crds\n"
CLUSTER_BLOCKS: Final = (MAKE_CLUSTER, INSTALL, REMOVE, REMOVE_CRDS)


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
