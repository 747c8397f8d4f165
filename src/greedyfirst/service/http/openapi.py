"""The OpenAPI document: request bodies, which handlers read raw, and errors."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.spec import Operation, RequestBody
from litestar.routes import HTTPRoute

from greedyfirst.service.http.access import needed_role
from greedyfirst.service.http.blinding import Operations
from greedyfirst.service.http.examples import EXAMPLES
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

    @dataclass
    class WithBody(Operation):
        body: ClassVar[type] = kind

        def __post_init__(self) -> None:
            self.request_body = RequestBody(content=_json_of(kind), required=True)

    return WithBody


def plain_operation(body: type, answer: type, parameters: dict[str, str]) -> type[Operation]:
    """An operation of which the handler tells Litestar nothing: parameters by name and place."""
    described: list[Any] = [
        {"name": name, "in": place, "schema": {"type": "string"}, "required": place == "path"}
        for name, place in parameters.items()
    ]

    @dataclass
    class Plain(body_of(body)):  # type: ignore[misc]
        def __post_init__(self) -> None:
            super().__post_init__()
            self.parameters = described
            for response in self.responses.values():
                response.content = _json_of(answer)

    return Plain


def _json_of(kind: type) -> Any:
    """Content that is JSON of this kind."""
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def operation_id(handler: HTTPRouteHandler, _: Any, __: Any) -> str:
    """The name of an operation in clients that are generated: that of the function here."""
    return handler.handler_name


def other_method(app: Litestar, method: str, path: str) -> tuple[str, str] | None:
    """A sentence for who sends the wrong method, and the methods that are taken; None for no such.

    Like what is served at an address, it is no secret: the document has it.
    """
    taken = methods_at(app, path)
    if not taken:
        return None
    methods = " or ".join(sorted(taken))
    sentence = f"{method} is not taken here; send {methods} to this address"
    bodies = [EXAMPLES[name][1] for name in taken.values() if name in EXAMPLES]
    if bodies:
        sentence += f", with a body such as {json.dumps(bodies[0])}"
    return sentence, ", ".join(sorted(taken))


def document_of(app: Litestar) -> dict[str, Any]:
    """The document, with the errors of every operation, and messages as they are encoded."""
    document: dict[str, Any] = app.openapi_schema.to_schema()
    handlers = _handlers(app)
    bodies = {body for each in handlers.values() if (body := _body(each)) is not None}
    _, components = msgspec.json.schema_components(
        [*_ANSWERS, *sorted(bodies, key=lambda kind: kind.__name__)],
        ref_template="#/components/schemas/{name}",
    )
    document["components"]["schemas"] = components
    refusal = {"description": "Refused", "content": _json_of(Problem)}
    for place, path in document["paths"].items():
        for method, operation in path.items():
            role = needed_role(handlers[place, method.upper()])
            operation["security"] = [{"key": []}]
            operation["description"] = f"{operation['description']} Role: {role}."
            operation["responses"].pop("400", None)
            operation["responses"] |= {"4XX": refusal, "503": refusal}
            if operation["operationId"] in EXAMPLES:
                (content,) = operation["requestBody"]["content"].values()
                content["example"] = EXAMPLES[operation["operationId"]][1]
    (table,) = document["paths"]["/v1/policies/{policy}/export"]["get"]["responses"]["200"][
        "content"
    ].values()
    table["schema"] = {"type": "string", "format": "binary"}  # as generators of clients know it
    create = document["paths"]["/v1/policies"]["post"]["responses"]
    create["200"] = create["201"] | {"description": "It is there already"}
    return document


def methods_at(app: Litestar, path: str) -> dict[str, str]:
    """What is taken at an address: the operation of each method."""
    return {
        method: str(operation_id(handler, None, None))
        for (form, method), handler in _handlers(app).items()
        if re.fullmatch(re.sub(r"\{[^}]*\}", "[^/]+", form), path)
    }


def _handlers(app: Litestar) -> dict[tuple[str, str], HTTPRouteHandler]:
    """The handlers of the interface, by path and method."""
    return {
        (route.path_format, str(method)): handler
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if needed_role(handler) is not None
    }


def _body(handler: HTTPRouteHandler) -> type | None:
    """What the handler's request body is, as :func:`body_of` was told."""
    return getattr(handler.operation_class, "body", None)
