"""Label and field selectors: grammar, error texts and matching of upstream (contract 4.5, 4.6)."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

from storage.views.quoting import excerpt, quoted

_NAME_FORMAT: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME: Final = re.compile(_NAME_FORMAT, re.ASCII)
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc',"
    f" regex used for validation is '{_NAME_FORMAT}')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    f"  or '12345', regex used for validation is '({_NAME_FORMAT})?')"
)
_SUBDOMAIN_FORMAT: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN: Final = re.compile(_SUBDOMAIN_FORMAT, re.ASCII)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
    " and must start and end with an alphanumeric character (e.g. 'example.com',"
    f" regex used for validation is '{_SUBDOMAIN_FORMAT}')"
)
_NAME_MAX_LENGTH: Final = 63
_SUBDOMAIN_MAX_LENGTH: Final = 253

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INTEGER_LIMIT: Final = 1 << 63

#: Most characters of one selector: 64 KiB of query are legal (contract 14.1), more takes too long.
MAX_LENGTH: Final = 64 * 1024
#: Most terms of one selector.
MAX_TERMS: Final = 1000

_TOLD_PROBLEMS: Final = 10


class InvalidSelectorError(ValueError):
    """A selector does not follow the grammar; its text is upstream's, for the caller's eyes."""


class Operator(Enum):
    """How a requirement compares; `=` and `==` are In with one value, `!=` is NotIn with one."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GREATER_THAN = "Gt"
    LESS_THAN = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()  # sorted, without repeats

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it; what is absent meets NotIn and DoesNotExist only."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        number = None if value is None else _integer(value)
        bound = _integer(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must be met; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()  # by key

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One term of a field selector."""

    field: str
    equals: bool  # False: `!=`
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """All terms must be met; without any, everything matches."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether fields meet every term; an absent field has the value ""."""
        return all((fields.get(term.field, "") == term.value) is term.equals for term in self.terms)

    def exact(self, field: str) -> str | None:
        """Return the value that the field must have, None where any or several may do."""
        return next(
            (term.value for term in self.terms if term.equals and term.field == field), None
        )

    def require_known(self, fields: tuple[str, str]) -> None:
        """Raise InvalidSelectorError where a term names another field than these two."""
        for term in self.terms:
            if term.field not in fields:
                known = ", ".join(map(quoted, fields))
                raise InvalidSelectorError(
                    f"{quoted(excerpt(term.field))} is not a known field selector: only {known}"
                )


def parse_fields(text: str) -> FieldSelector:
    """Parse a fieldSelector. Raises InvalidSelectorError."""
    _check_length(text)
    parts = _split(text)
    _check_count(len(parts))
    return FieldSelector(tuple(_field_term(part, text) for part in sorted(parts)))


def _check_length(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise InvalidSelectorError(f"the selector is longer than {MAX_LENGTH} characters")


def _check_count(terms: int) -> None:
    if terms > MAX_TERMS:
        raise InvalidSelectorError(f"the selector has more than {MAX_TERMS} terms")


def _split(text: str) -> list[str]:
    """Split at commas that no backslash precedes; escapes stay as they are."""
    return re.findall(r"(?:\\.|[^\\,]|\\$)+", text, re.DOTALL)


def _field_term(part: str, text: str) -> FieldTerm:
    found = re.search(r"!=|==|=", part)
    if found is None:
        raise InvalidSelectorError(
            f"invalid selector: '{excerpt(text)}'; can't understand '{excerpt(part)}'"
        )
    value = _unescaped(part[found.end() :])
    return FieldTerm(part[: found.start()], found[0] != "!=", value)


def _unescaped(value: str) -> str:
    """Resolve `\\\\`, `\\,` and `\\=`; nothing else may be escaped, and `=` must be."""
    for found in re.finditer(r"\\(.?)|=", value, re.DOTALL):
        if found[0] == "=":
            raise InvalidSelectorError(
                f"invalid field selector: unescaped character in value: {ord('=')}"
            )
        if found[1] not in ("\\", ",", "="):
            raise InvalidSelectorError(
                f"invalid field selector: invalid escape sequence: {found[0]}"
            )
    return re.sub(r"\\(.)", r"\1", value)


class _Token(Enum):
    END = ""
    CLOSE = ")"
    COMMA = ","
    NOT = "!"
    DOUBLE_EQUALS = "=="
    EQUALS = "="
    GREATER = ">"
    IN = "in"
    LESS = "<"
    NOT_EQUALS = "!="
    NOT_IN = "notin"
    OPEN = "("
    WORD = "a word"


_OPERATORS: Final = {
    _Token.IN: Operator.IN,
    _Token.EQUALS: Operator.IN,
    _Token.DOUBLE_EQUALS: Operator.IN,
    _Token.NOT_IN: Operator.NOT_IN,
    _Token.NOT_EQUALS: Operator.NOT_IN,
    _Token.GREATER: Operator.GREATER_THAN,
    _Token.LESS: Operator.LESS_THAN,
}
_OPERATOR_NAMES: Final = "in, notin, =, ==, !=, gt, lt"
_SCANNER: Final = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n]+))")


def parse_labels(text: str) -> LabelSelector:
    """Parse a labelSelector. Raises InvalidSelectorError."""
    _check_length(text)
    requirements = list(islice(_Parser(text).requirements(), MAX_TERMS + 1))
    _check_count(len(requirements))
    return LabelSelector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


class _Parser:
    """Upstream's recursive descent over the tokens of one label selector."""

    def __init__(self, text: str) -> None:
        self._tokens = [_token(*found.groups()) for found in _SCANNER.finditer(text)]
        self._tokens.append((_Token.END, ""))
        self._position = 0

    def requirements(self) -> Iterable[Requirement]:
        token, literal = self._peek()
        if token not in (_Token.WORD, _Token.NOT, _Token.END):
            raise InvalidSelectorError(
                f"found '{excerpt(literal)}', expected: !, identifier, or 'end of string'"
            )
        while token is not _Token.END:
            try:
                yield self._requirement()
            except InvalidSelectorError as error:
                raise InvalidSelectorError(f"unable to parse requirement: {error}") from None
            token, literal = self._next()
            if token is _Token.COMMA:
                following, literal = self._peek()
                if following not in (_Token.WORD, _Token.NOT):
                    raise InvalidSelectorError(
                        f"found '{excerpt(literal)}', expected: identifier after ','"
                    )
            elif token is not _Token.END:
                raise InvalidSelectorError(
                    f"found '{excerpt(literal)}', expected: ',' or 'end of string'"
                )

    def _peek(self) -> tuple[_Token, str]:
        """Return the next token where keywords are words: `in in (in)` is a requirement."""
        token, literal = self._tokens[self._position]
        return (_Token.WORD if token in (_Token.IN, _Token.NOT_IN) else token), literal

    def _next(self) -> tuple[_Token, str]:
        following = self._peek()
        if following[0] is not _Token.END:
            self._position += 1
        return following

    def _requirement(self) -> Requirement:
        token, key = self._next()
        negated = token is _Token.NOT
        if negated:
            token, key = self._next()
        if token is not _Token.WORD:
            raise InvalidSelectorError(f"found '{excerpt(key)}', expected: identifier")
        _check_key(key)
        if negated:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self._peek()[0] in (_Token.END, _Token.COMMA):
            return Requirement(key, Operator.EXISTS)
        token, literal = self._tokens[self._position]
        operator = _OPERATORS.get(token)
        if operator is None:
            raise InvalidSelectorError(f"found '{excerpt(literal)}', expected: {_OPERATOR_NAMES}")
        self._position += 1
        many = token in (_Token.IN, _Token.NOT_IN)
        values = self._values() if many else {self._exact_value()}
        return _checked(Requirement(key, operator, tuple(sorted(values))))

    def _exact_value(self) -> str:
        if self._peek()[0] in (_Token.END, _Token.COMMA):
            return ""
        token, literal = self._next()
        if token is not _Token.WORD:
            raise InvalidSelectorError(f"found '{excerpt(literal)}', expected: identifier")
        return literal

    def _values(self) -> set[str]:
        token, literal = self._next()
        if token is not _Token.OPEN:
            raise InvalidSelectorError(f"found '{excerpt(literal)}' expected: '('")
        token, literal = self._peek()
        if token not in (_Token.WORD, _Token.COMMA, _Token.CLOSE):
            raise InvalidSelectorError(
                f"found '{excerpt(literal)}', expected: ',', ')' or identifier"
            )
        values = set[str]()
        while True:
            values.add(self._value_or_nothing())
            token, literal = self._next()
            if token is _Token.CLOSE:
                return values
            if token is not _Token.COMMA:
                raise InvalidSelectorError(f"found '{excerpt(literal)}', expected: ',' or ')'")

    def _value_or_nothing(self) -> str:
        token, literal = self._peek()
        if token in (_Token.COMMA, _Token.CLOSE):
            return ""
        self._next()
        if token is not _Token.WORD:
            raise InvalidSelectorError(f"found '{excerpt(literal)}', expected: ',', or identifier")
        return literal


def _token(symbol: str | None, word: str | None) -> tuple[_Token, str]:
    if symbol is not None:
        return _Token(symbol), symbol
    literal = word or ""
    return (_Token(literal) if literal in ("in", "notin") else _Token.WORD), literal


def _check_key(key: str) -> None:
    problems = list(_key_problems(key))
    if problems:
        raise InvalidSelectorError(
            f"<nil>: Invalid value: {quoted(excerpt(key))}: {'; '.join(problems)}"
        )


def _key_problems(key: str) -> Iterable[str]:
    *prefixes, name = key.split("/")
    if len(prefixes) > 1:
        yield (
            f"a valid label key {_NAME_RULE} with an optional DNS subdomain prefix and '/'"
            " (e.g. 'example.com/MyName')"
        )
        return
    for prefix in prefixes:
        if not prefix:
            yield "prefix part must be non-empty"
            continue
        if len(prefix) > _SUBDOMAIN_MAX_LENGTH:
            yield f"prefix part must be no more than {_SUBDOMAIN_MAX_LENGTH} bytes"
        if not _SUBDOMAIN.fullmatch(prefix):
            yield f"prefix part {_SUBDOMAIN_RULE}"
    if not name:
        yield "name part must be non-empty"
    elif len(name) > _NAME_MAX_LENGTH:
        yield f"name part must be no more than {_NAME_MAX_LENGTH} bytes"
    if not _NAME.fullmatch(name):
        yield f"name part {_NAME_RULE}"


def _checked(requirement: Requirement) -> Requirement:
    problems = list(dict.fromkeys(islice(_value_problems(requirement), _TOLD_PROBLEMS)))
    if not problems:
        return requirement
    raise InvalidSelectorError(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")


def _value_problems(requirement: Requirement) -> Iterable[str]:
    if requirement.operator in (Operator.GREATER_THAN, Operator.LESS_THAN):
        value = requirement.values[0]
        if _integer(value) is None:
            yield (
                f"values[0]: Invalid value: {quoted(excerpt(value))}:"
                " for 'Gt', 'Lt' operators, the value must be an integer"
            )
    for index, value in enumerate(requirement.values):
        faults = []
        if len(value) > _NAME_MAX_LENGTH:
            faults.append(f"must be no more than {_NAME_MAX_LENGTH} bytes")
        if value and not _NAME.fullmatch(value):
            faults.append(_VALUE_RULE)
        if faults:
            place = f"values[{index}][{requirement.key}]"
            yield f"{place}: Invalid value: {quoted(excerpt(value))}: {'; '.join(faults)}"


def _integer(text: str) -> int | None:
    """Return a 64-bit integer as Go parses it, None for anything else."""
    if len(text) > _NAME_MAX_LENGTH or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INTEGER_LIMIT <= number < _INTEGER_LIMIT else None
