"""RBAC objects as values: Role, ClusterRole, RoleBinding, ClusterRoleBinding.

Objects from files never met the API server, so what it would refuse is left out here: a malformed
object grants nothing. The rules are those of upstream's validation, as far as they decide whether
an object could exist.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

logger = logging.getLogger(__name__)

RBAC_GROUP: Final = "rbac.authorization.k8s.io"

_OPERATORS_WITH_VALUES: Final = frozenset({"In", "NotIn"})
_OPERATORS_WITHOUT_VALUES: Final = frozenset({"Exists", "DoesNotExist"})


class MalformedError(Exception):
    """An object that an API server would refuse; the text names no value of it."""


class PolicyRule(Struct, frozen=True, rename="camel"):
    """One rule of a role."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(name="nonResourceURLs", default=())


class LabelRequirement(Struct, frozen=True):
    """A term of matchExpressions."""

    key: str
    operator: str
    values: tuple[str, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet the term; a label that is absent is in no set of values."""
        match self.operator:
            case "In":
                return labels.get(self.key) in (self.values or ())
            case "NotIn":
                return labels.get(self.key) not in (self.values or ())
            case "Exists":
                return self.key in labels
            case _:
                return self.key not in labels


class LabelSelector(Struct, frozen=True, rename="camel"):
    """A selector; an empty one matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: tuple[LabelRequirement, ...] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every term."""
        return all(
            labels.get(key) == value for key, value in (self.match_labels or {}).items()
        ) and all(term.matches(labels) for term in self.match_expressions or ())


class AggregationRule(Struct, frozen=True, rename="camel"):
    """Whose rules a ClusterRole gathers."""

    cluster_role_selectors: tuple[LabelSelector, ...] | None = None


class RoleMeta(Struct, frozen=True):
    """metadata, as far as it decides."""

    name: str
    namespace: str | None = None
    labels: dict[str, str] | None = None


class Role(Struct, frozen=True, rename="camel"):
    """A Role or a ClusterRole."""

    metadata: RoleMeta
    rules: tuple[PolicyRule, ...] | None = None
    aggregation_rule: AggregationRule | None = None


class Subject(Struct, frozen=True, rename="camel"):
    """Somebody a binding speaks of."""

    kind: str
    name: str
    namespace: str | None = None
    api_group: str | None = None


class RoleRef(Struct, frozen=True, rename="camel"):
    """The role that a binding gives."""

    kind: str
    name: str
    api_group: str | None = None


class Binding(Struct, frozen=True, rename="camel"):
    """A RoleBinding or a ClusterRoleBinding."""

    metadata: RoleMeta
    role_ref: RoleRef
    subjects: tuple[Subject, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RBACObjects:
    """All well-formed objects, by kind; names of a kind are unique in their namespace."""

    roles: tuple[Role, ...] = ()
    cluster_roles: tuple[Role, ...] = ()
    role_bindings: tuple[Binding, ...] = ()
    cluster_role_bindings: tuple[Binding, ...] = ()


def read_objects(objects: Iterable[Mapping[str, Any]]) -> RBACObjects:
    """Return the well-formed among objects of the four kinds; the others are logged, left out."""
    roles: dict[str, list[Role]] = {"Role": [], "ClusterRole": []}
    bindings: dict[str, list[Binding]] = {"RoleBinding": [], "ClusterRoleBinding": []}
    for value in objects:
        try:
            match value.get("kind"):
                case "Role" | "ClusterRole" as kind:
                    roles[kind].append(_role(value, kind))
                case "RoleBinding" | "ClusterRoleBinding" as kind:
                    bindings[kind].append(_binding(value, kind))
        except MalformedError as error:
            name = {"object_kind": value.get("kind"), "object_name": _name(value)}
            logger.warning("malformed object grants nothing", extra={**name, "problem": str(error)})
    return RBACObjects(
        roles=tuple(roles["Role"]),
        cluster_roles=tuple(roles["ClusterRole"]),
        role_bindings=tuple(bindings["RoleBinding"]),
        cluster_role_bindings=tuple(bindings["ClusterRoleBinding"]),
    )


def _role(value: Mapping[str, Any], kind: str) -> Role:
    role = _converted(value, Role)
    for rule in role.rules or ():
        _check_rule(rule, namespaced=kind == "Role")
    if role.aggregation_rule is not None:
        if kind == "Role":
            raise MalformedError("a Role cannot aggregate")
        for selector in role.aggregation_rule.cluster_role_selectors or ():
            for term in selector.match_expressions or ():
                _check_requirement(term)
    return role


def _check_rule(rule: PolicyRule, *, namespaced: bool) -> None:
    if not rule.verbs:
        raise MalformedError("a rule has no verbs")
    if rule.non_resource_urls:
        if namespaced:
            raise MalformedError("a Role cannot speak of nonResourceURLs")
        if rule.api_groups or rule.resources or rule.resource_names:
            raise MalformedError("a rule speaks of resources and of nonResourceURLs")
    elif not rule.api_groups or not rule.resources:
        raise MalformedError("a rule for resources needs apiGroups and resources")


def _check_requirement(term: LabelRequirement) -> None:
    if term.operator in _OPERATORS_WITH_VALUES:
        if not term.values:
            raise MalformedError("a selector's term has no values")
    elif term.operator in _OPERATORS_WITHOUT_VALUES:
        if term.values:
            raise MalformedError("a selector's term must not have values")
    else:
        raise MalformedError("a selector's term has an unknown operator")


def _binding(value: Mapping[str, Any], kind: str) -> Binding:
    binding = _converted(value, Binding)
    allowed = ("Role", "ClusterRole") if kind == "RoleBinding" else ("ClusterRole",)
    ref = binding.role_ref
    if ref.kind not in allowed or (ref.api_group or RBAC_GROUP) != RBAC_GROUP or not ref.name:
        raise MalformedError("roleRef names no role that this binding can give")
    for subject in binding.subjects or ():
        _check_subject(subject, cluster_wide=kind == "ClusterRoleBinding")
    return binding


def _check_subject(subject: Subject, *, cluster_wide: bool) -> None:
    match subject.kind:
        case "User" | "Group":
            group = RBAC_GROUP
        case "ServiceAccount":
            group = ""
            if cluster_wide and not subject.namespace:
                raise MalformedError("a subject of kind ServiceAccount has no namespace")
        case _:
            raise MalformedError("a subject is of an unknown kind")
    if not subject.name or (subject.api_group or group) != group:
        raise MalformedError("a subject has no name, or an apiGroup that is not its kind's")


_Shape = TypeVar("_Shape", Role, Binding)


def _converted(value: Mapping[str, Any], shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.convert(value, shape)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise MalformedError("it does not have the shape of its kind") from error


def _name(value: Mapping[str, Any]) -> object:
    metadata = value.get("metadata")
    return metadata.get("name") if isinstance(metadata, Mapping) else None
