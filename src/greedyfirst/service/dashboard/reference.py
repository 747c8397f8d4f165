"""The OpenAPI document as chapters of a page."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from greedyfirst.service.http.examples import curl

_WORDS = {
    "string": "text",
    "integer": "whole number",
    "boolean": "true or false",
    "null": "nothing",
}


class Field(NamedTuple):
    """A field of a shape, or a parameter."""

    name: str
    kind: str
    needed: bool
    text: str


class Operation(NamedTuple):
    """What can be asked for at an address."""

    anchor: str
    method: str
    path: str
    text: str
    parameters: list[Field]
    body: str | None
    fields: list[Field]
    answers: list[tuple[str, str]]
    #: A request as a command, and its body as JSON; None where the text is enough.
    curl: str | None
    example: str | None


class Shape(NamedTuple):
    """A named kind of object."""

    name: str
    text: str
    fields: list[Field]


def chapters(document: dict[str, Any]) -> dict[str, Any]:
    """The operations in the order of their addresses, and the shapes that they speak of."""
    named = document["components"]["schemas"]
    operations = [
        _operation(method, path, described, named)
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    ]
    shapes = [Shape(name, _text(schema), _fields(schema)) for name, schema in sorted(named.items())]
    return {"operations": operations, "shapes": shapes, "version": document["info"]["version"]}


def _operation(
    method: str, path: str, described: dict[str, Any], named: dict[str, Any]
) -> Operation:
    parameters = [
        Field(
            item["name"],
            f"{kind_of(item['schema'])}, in the {item['in']}",
            item.get("required", False),
            _text(item),
        )
        for item in described.get("parameters", ())
    ]
    body = _json_of(described.get("requestBody", {}))
    example = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    example = example.get("example")
    if body is not None:
        body = named[kind_of(body)]
    answers = [
        (status, kind_of(_json_of(answer)))
        for status, answer in described.get("responses", {}).items()
        if status.startswith("2")
    ]
    return Operation(
        anchor=described["operationId"],
        method=method.upper(),
        path=path,
        text=_text(described) or described.get("summary", ""),
        parameters=parameters,
        body=None if body is None else _text(body),
        fields=[] if body is None else _fields(body),
        answers=answers,
        curl=curl(described["operationId"], method.upper(), path),
        example=None if example is None else json.dumps(example, indent=2),
    )


def _text(described: dict[str, Any]) -> str:
    """Its description, without the marks that documentation tools read."""
    return str(described.get("description", "")).replace("``", "")


def _json_of(content: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a JSON body."""
    schema: dict[str, Any] | None = (
        content.get("content", {}).get("application/json", {}).get("schema")
    )
    return schema


def _fields(schema: dict[str, Any]) -> list[Field]:
    needed = schema.get("required", ())
    return [
        Field(name, kind_of(part), name in needed, _text(part))
        for name, part in schema.get("properties", {}).items()
    ]


def kind_of(schema: dict[str, Any] | None) -> str:
    """What a value may be, in words."""
    if not schema:
        return "anything" if schema == {} else "a file"
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return " or ".join(f"“{value}”" for value in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(kind_of(part) for part in schema[several]))
    kinds = schema.get("type", "anything")
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    return " or ".join(_plain(kind, schema) for kind in named)


def _plain(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"list of {kind_of(schema.get('items') or {})}"
    if kind == "object":
        values = schema.get("additionalProperties")
        title = schema.get("title")
        if title:
            return str(title)
        return f"names with {kind_of(values)}" if values else "object"
    return _WORDS.get(kind, kind)
