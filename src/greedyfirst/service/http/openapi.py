"""The OpenAPI document: request bodies, which handlers read raw, and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi.spec import Operation, RequestBody
from litestar.routes import HTTPRoute

from greedyfirst.service.http.access import needed_role
from greedyfirst.service.http.blinding import Operations
from greedyfirst.service.http.messages import (
    AuditEntry,
    ClockView,
    Course,
    DiversityView,
    HeadView,
    PolicyView,
    Problem,
    ReplayView,
    RewardAnswer,
    SchemaAnswer,
)
from greedyfirst.service.log.decision_view import DecisionView
from greedyfirst.service.log.events import Decision
from greedyfirst.service.state.effects import DecisionIntervals, Effects
from greedyfirst.service.state.protocol import Protocol
from greedyfirst.service.state.subgroups import Subgroups

_ANSWERS = [
    AuditEntry,
    ClockView,
    Course,
    Decision,
    DecisionIntervals,
    DecisionView,
    DiversityView,
    Effects,
    HeadView,
    Operations,
    PolicyView,
    Problem,
    Protocol,
    ReplayView,
    RewardAnswer,
    SchemaAnswer,
    Subgroups,
]


def body_of(kind: type) -> type[Operation]:
    """An operation whose request body is a ``kind``."""
    schema = _inlined(kind)

    @dataclass
    class WithBody(Operation):
        def __post_init__(self) -> None:
            media: Any = {"application/json": {"schema": schema}}
            self.request_body = RequestBody(content=media, required=True)

    return WithBody


def plain_operation(body: type, answer: type, parameters: dict[str, str]) -> type[Operation]:
    """An operation of which the handler tells Litestar nothing: parameters by name and place."""
    described: list[Any] = [
        {"name": name, "in": place, "schema": {"type": "string"}, "required": place == "path"}
        for name, place in parameters.items()
    ]
    media: Any = {
        "application/json": {"schema": {"$ref": f"#/components/schemas/{answer.__name__}"}}
    }

    @dataclass
    class Plain(body_of(body)):  # type: ignore[misc]
        def __post_init__(self) -> None:
            super().__post_init__()
            self.parameters = described
            for response in self.responses.values():
                response.content = media

    return Plain


def document_of(app: Litestar) -> dict[str, Any]:
    """The document, with the errors of every operation, and answers as they are encoded."""
    document: dict[str, Any] = app.openapi_schema.to_schema()
    _, components = msgspec.json.schema_components(
        _ANSWERS, ref_template="#/components/schemas/{name}"
    )
    document["components"]["schemas"] |= components
    problem = {"schema": {"$ref": "#/components/schemas/Problem"}}
    refusal = {"description": "Refused", "content": {"application/json": problem}}
    roles = _roles(app)
    for place, path in document["paths"].items():
        for method, operation in path.items():
            role = roles[place, method.upper()]
            operation["security"] = [{"key": []}]
            operation["description"] = f"{operation['description']} Role: {role}."
            operation["responses"].pop("400", None)
            operation["responses"] |= {"4XX": refusal, "503": refusal}
    create = document["paths"]["/v1/policies"]["post"]["responses"]
    create["200"] = create["201"] | {"description": "It is there already"}
    return document


def _roles(app: Litestar) -> dict[tuple[str, str], str]:
    """The role that each route needs, by path and method."""
    return {
        (route.path_format, str(method)): role
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if (role := needed_role(handler)) is not None
    }


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
