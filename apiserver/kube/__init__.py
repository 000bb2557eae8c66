"""Everything that is asked of a kube-apiserver: the one room that knows the kubernetes package."""
