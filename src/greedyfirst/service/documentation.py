"""Request bodies in the OpenAPI document: handlers read them raw, so they are described here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar.openapi.spec import Operation, RequestBody


def body_of(kind: type) -> type[Operation]:
    """An operation whose request body is a ``kind``."""
    schema = _inlined(kind)

    @dataclass
    class WithBody(Operation):
        def __post_init__(self) -> None:
            media: Any = {"application/json": {"schema": schema}}
            self.request_body = RequestBody(content=media, required=True)

    return WithBody


def _inlined(kind: type) -> Any:
    """The JSON schema of a struct, with what it refers to put in place."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template="{name}")

    def put(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return put(components[node["$ref"]])
            return {key: put(value) for key, value in node.items() if key != "discriminator"}
        if isinstance(node, (list, tuple)):
            return [put(item) for item in node]
        return node

    return put(schema)
