"""A client that is generated from /openapi.json works: decide, reward, alarm, answer, export.

It stands for clients in other languages. What openapi-python-client makes has the names that the
document gives to operations and shapes.
"""

from __future__ import annotations

import importlib
import io
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from support.service_process import service_process

pytestmark = pytest.mark.slow
CONFIG = """
post_hooks: []
content_type_overrides:
  application/vnd.apache.parquet: application/octet-stream
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with service_process("--db", tmp_path_factory.mktemp("service") / "trial.db") as address:
        yield address


@pytest.fixture(scope="module")
def generated(url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of the generated package, which can be imported."""
    folder = tmp_path_factory.mktemp("generated")
    with urllib.request.urlopen(f"{url}/openapi.json", timeout=10) as answer:
        (folder / "openapi.json").write_bytes(answer.read())
    (folder / "config.yml").write_text(CONFIG)
    command = Path(sys.executable).with_name("openapi-python-client")
    options = "generate --path openapi.json --meta none --output-path dosing_client"
    words = [command, *options.split(), "--config", "config.yml", "--fail-on-warning"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield "dosing_client"
    sys.path.remove(str(folder))


@pytest.fixture
def client(url: str, generated: str) -> Iterator[Any]:
    with importlib.import_module(f"{generated}.client").Client(base_url=url) as opened:
        yield opened


def test_a_generated_client_goes_all_the_way(client: Any, generated: str) -> None:
    models: Any = importlib.import_module(f"{generated}.models")

    def call(operation: str, *arguments: Any, **options: Any) -> Any:
        module: Any = importlib.import_module(f"{generated}.api.{operation}")
        answer = module.sync_detailed(*arguments, client=client, **options)
        assert answer.status_code in (200, 201), answer.content
        return answer.parsed

    specification = models.Specification(
        name="dosing",
        arms=["low", "high"],
        features=[models.NumericFeature.from_dict({"kind": "numeric", "name": "age"})],
        on_alarm=models.SpecificationOnAlarm.HOLD,
        seed=1,
    )
    created = call("policies.create_policy", body=specification)
    assert (created.name, created.open_alarms) == ("dosing", [])
    for patient in range(40):  # "high" is worse for everybody: it starves
        context = models.DecisionRequestContext.from_dict({"age": (patient % 7) - 3})
        asked = models.DecisionRequest(context=context)
        key = f"patient-{patient}"
        decision = call("decisions.decide", "dosing", body=asked, idempotency_key=key)
        again = call("decisions.decide", "dosing", body=asked, idempotency_key=key)
        assert again == decision
        outcome = 1.0 if decision.arm == "low" else -1.0
        counted = call("decisions.reward", decision.decision_id, body=models.RewardRequest(outcome))
        assert counted.outcome == "counted"
    alarms = call("policies.diversity", "dosing").open_alarms
    assert [alarm.arm for alarm in alarms] == ["high"]
    answer = models.ResolutionRequest(
        arm="high", resolution=models.ResolutionRequestResolution.DROP, who="Ada", why="worse"
    )
    assert call("policies.resolve", "dosing", body=answer).open_alarms == []
    exported = call("policies.export", "dosing")
    table = pd.read_parquet(io.BytesIO(exported.payload.read()))
    assert len(table) == 40
    assert set(table["arm"]) == {"low", "high"}


def test_a_refusal_is_a_problem(client: Any, generated: str) -> None:
    found: Any = importlib.import_module(f"{generated}.api.policies.get_policy")
    answer = found.sync_detailed("nix", client=client)
    assert answer.status_code == 404
    assert b"nix" in answer.content
