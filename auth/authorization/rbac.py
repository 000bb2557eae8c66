"""Rights from RBAC objects, for the embedded cluster (design 7): upstream's semantics.

A set of rules is built whole and never changes; another one takes its place at once. Nothing of it
gets into a ruling's reason: who is refused learns neither roles nor bindings.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from auth.attributes import Attributes
from auth.authorization.port import Decision, Ruling
from auth.authorization.rbac_objects import (
    Binding,
    PolicyRule,
    RBACObjects,
    Role,
    Subject,
    read_objects,
)
from auth.identity import User

_ALL: Final = "*"
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"

_ALLOW: Final = Ruling(Decision.ALLOW)
_NO_OPINION: Final = Ruling(Decision.NO_OPINION)

_MAX_DECISIONS: Final = 8192

#: A caller chooses these; longer ones are decided each time, so that the kept ones stay small.
_MAX_KEPT_TEXT: Final = 1000

Grantee = tuple[str, str]  # kind User or Group, and the name
Rules = tuple[PolicyRule, ...]


class RBACAuthorizer:
    """Allows what a rule grants; no opinion on anything else."""

    def __init__(self, objects: Iterable[Mapping[str, Any]] = ()) -> None:
        self.replace(objects)

    def replace(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Forget all rules and decisions, and follow these objects, at once for who asks next."""
        rules = RuleSet(read_objects(objects))
        self._rules = rules
        self._decide = lru_cache(maxsize=_MAX_DECISIONS)(rules.allows)

    async def authorize(self, user: User, attributes: Attributes) -> Ruling:
        """Return the ruling; selectors do not matter to RBAC."""
        if attributes.field_selector is not None or attributes.label_selector is not None:
            attributes = replace(attributes, field_selector=None, label_selector=None)
        text = len(attributes.path) + len(attributes.name) + len(attributes.namespace)
        decide = self._decide if text <= _MAX_KEPT_TEXT else self._rules.allows
        return _ALLOW if decide(user, attributes) else _NO_OPINION


class RuleSet:
    """Rules by whom they are granted to: everywhere, or in one namespace."""

    def __init__(self, objects: RBACObjects) -> None:
        self._cluster_roles = _cluster_role_rules(objects.cluster_roles)
        self._roles = {
            (role.metadata.namespace or "", role.metadata.name): role.rules or ()
            for role in objects.roles
        }
        self._everywhere: dict[Grantee, list[Rules]] = defaultdict(list)
        self._in_namespace: dict[tuple[str, Grantee], list[Rules]] = defaultdict(list)
        for binding in objects.cluster_role_bindings:
            for grantee in _grantees(binding, namespace=""):
                self._everywhere[grantee].append(self._given_by(binding, namespace=""))
        for binding in objects.role_bindings:
            namespace = binding.metadata.namespace or ""
            for grantee in _grantees(binding, namespace):
                given = self._given_by(binding, namespace)
                self._in_namespace[namespace, grantee].append(given)

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether a rule that applies to the user grants what is asked for."""
        return any(
            rule_allows(rule, attributes)
            for rules in self._rules_for(user, attributes.namespace)
            for rule in rules
        )

    def _rules_for(self, user: User, namespace: str) -> Iterator[Rules]:
        grantees = [("User", user.name), *(("Group", group) for group in user.groups)]
        for grantee in grantees:
            yield from self._everywhere.get(grantee, ())
            if namespace:
                yield from self._in_namespace.get((namespace, grantee), ())

    def _given_by(self, binding: Binding, namespace: str) -> Rules:
        """Return the rules of a binding's role; none where there is no such role."""
        ref = binding.role_ref
        if ref.kind == "Role":
            return self._roles.get((namespace, ref.name), ())
        return self._cluster_roles.get(ref.name, ())


def rule_allows(rule: PolicyRule, attributes: Attributes) -> bool:
    """Whether a rule grants a request; one for a resource is granted by resource rules only."""
    if not _holds(rule.verbs, attributes.verb):
        return False
    if not attributes.resource_request:
        return any(_url_matches(url, attributes.path) for url in rule.non_resource_urls)
    return (
        _holds(rule.api_groups, attributes.group)
        and any(_resource_matches(each, attributes) for each in rule.resources)
        and (not rule.resource_names or attributes.name in rule.resource_names)
    )


def _holds(allowed: tuple[str, ...], value: str) -> bool:
    return _ALL in allowed or value in allowed


def _resource_matches(allowed: str, attributes: Attributes) -> bool:
    """Compare with a rule's resource: all, one, one's subresource, or a subresource of all."""
    if allowed == _ALL:
        return True
    if not attributes.subresource:
        return allowed == attributes.resource
    subresource = attributes.subresource
    return allowed in (f"{attributes.resource}/{subresource}", f"{_ALL}/{subresource}")


def _url_matches(allowed: str, path: str) -> bool:
    if allowed.endswith(_ALL):
        return path.startswith(allowed.rstrip(_ALL))
    return allowed == path


def _grantees(binding: Binding, namespace: str) -> Iterator[Grantee]:
    for subject in binding.subjects or ():
        yield _grantee(subject, namespace)


def _grantee(subject: Subject, namespace: str) -> Grantee:
    """Return whom a subject stands for; a ServiceAccount is the user of its name."""
    if subject.kind == "ServiceAccount":
        return "User", f"{_SERVICE_ACCOUNT}{subject.namespace or namespace}:{subject.name}"
    return subject.kind, subject.name


def _cluster_role_rules(roles: Iterable[Role]) -> dict[str, Rules]:
    """Return the rules of each ClusterRole by name.

    An aggregating one has the rules of those that its selectors choose, never its own, as
    upstream's controller writes them; through others that aggregate, loops or not.
    """
    by_name = {role.metadata.name: role for role in roles}
    return {name: _gathered(role, by_name) for name, role in by_name.items()}


def _gathered(role: Role, by_name: Mapping[str, Role]) -> Rules:
    if role.aggregation_rule is None:
        return role.rules or ()
    reached = {role.metadata.name}
    waiting = [role]
    while waiting:
        for name in _chosen_by(waiting.pop(), by_name) - reached:
            reached.add(name)
            if by_name[name].aggregation_rule is not None:
                waiting.append(by_name[name])
    sources = (by_name[name] for name in sorted(reached))
    return tuple(
        rule for each in sources if each.aggregation_rule is None for rule in each.rules or ()
    )


def _chosen_by(role: Role, by_name: Mapping[str, Role]) -> set[str]:
    selectors = role.aggregation_rule.cluster_role_selectors if role.aggregation_rule else None
    return {
        name
        for name, other in by_name.items()
        if any(selector.matches(other.metadata.labels or {}) for selector in selectors or ())
    }
