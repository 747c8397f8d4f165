"""What a deployment is made of: its arms, features and policy, and how long it waits."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from greedyfirst.agent import Agent
from greedyfirst.links.link import check_rewards
from greedyfirst.policies import Policy
from greedyfirst.policies.description import as_in_release_0_1, as_stored
from greedyfirst.service.errors import InvalidError
from greedyfirst.service.state import ranges
from greedyfirst.service.state.answers import LEAVE_OPEN, AnswerName
from greedyfirst.service.state.names import READABLE, check_readable
from greedyfirst.service.state.policy_description import Control, PolicyDescription
from greedyfirst.service.state.ranges import Amount, FeatureRange, Outside, RewardRange
from greedyfirst.tables import Schema
from greedyfirst.tables.features import Categorical, Numeric
from greedyfirst.validation import names

#: In Python $ also matches before a line's end.
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}$(?!\n)", max_length=64)]
Label = Annotated[str, Meta(min_length=1, max_length=100)]
#: Of requests only: what is in a log must stay readable, whatever names it has.
NewLabel = Annotated[str, Meta(min_length=1, max_length=100, pattern=READABLE)]
Person = Annotated[str, Meta(min_length=1, max_length=200, pattern=READABLE)]
Reason = Annotated[str, Meta(min_length=1, max_length=2000)]
Seconds = Annotated[float, Meta(gt=0, le=10.0**9)]
Scale = Annotated[float, Meta(gt=0, le=1e12)]
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]

MOST_ARMS, MOST_FEATURES = 1000, 1000
#: Numbers in the arms' Gram matrices together: a state is ten to twenty times as large.
MOST_CELLS = 2_000_000


def check_size(n_arms: int, n_features: int) -> None:
    """Refuse what would take too much memory."""
    if n_arms > MOST_ARMS or n_arms * n_features**2 > MOST_CELLS:
        raise InvalidError(
            f"{n_arms} arms with {n_features} encoded features are too many: at most {MOST_ARMS} "
            f"arms, and arms × features² at most {MOST_CELLS}"
        )


class NumericFeature(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind", tag="numeric"
):
    """A number x, encoded as (x − mean) / scale; plausible from ``low`` to ``high``."""

    name: Label
    mean: Amount = 0.0
    scale: Scale = 1.0
    low: Amount | None = None
    high: Amount | None = None
    #: What is done with a value outside: it is refused, or its decision's reward is held.
    outside: Outside = "refuse"

    def feature(self) -> Numeric:
        """The feature of a schema."""
        return Numeric(self.name, self.mean, self.scale)


class CategoricalFeature(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="kind",
    tag="categorical",
):
    """One of ``levels``; ``other`` is the level that stands for unseen ones, if there is one."""

    name: Label
    levels: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=MOST_FEATURES)]
    reference: str | None = None
    other: str | None = None

    def feature(self) -> Categorical:
        """The feature of a schema."""
        return Categorical(self.name, self.levels, self.reference, self.other)


Feature = NumericFeature | CategoricalFeature


class Features(Struct, frozen=True, kw_only=True):
    """How a named context becomes numbers."""

    features: Annotated[tuple[Feature, ...], Meta(min_length=1, max_length=MOST_FEATURES)]
    #: A column of ones; each categorical then has no column for its reference level.
    intercept: bool = True

    def schema(self) -> Schema:
        """The schema; an error says what is wrong with it."""
        try:
            schema = Schema(
                features=[item.feature() for item in self.features], intercept=self.intercept
            )
        except ValueError as error:
            raise InvalidError(str(error)) from None
        for item in self.features:
            if isinstance(item, NumericFeature):
                ranges.check(f"feature {item.name!r}", item.low, item.high)
        if schema.n_features > MOST_FEATURES:
            raise InvalidError(
                f"features must make at most {MOST_FEATURES} encoded columns, "
                f"got {schema.n_features}"
            )
        return schema

    def check_names(self) -> None:
        """Refuse names of features and levels that people could not read."""
        for item in self.features:
            check_readable("the name of a feature", item.name)
            for level in item.levels if isinstance(item, CategoricalFeature) else ():
                check_readable(f"a level of {item.name!r}", level)

    def ranges(self) -> tuple[FeatureRange, ...]:
        """The plausible ranges of those that have one."""
        return tuple(
            FeatureRange(
                item.name,
                -math.inf if item.low is None else item.low,
                math.inf if item.high is None else item.high,
                item.outside,
            )
            for item in self.features
            if isinstance(item, NumericFeature) and (item.low, item.high) != (None, None)
        )

    def without_ranges(self) -> Features:
        """The same, with every number plausible: they encode contexts alike."""
        numbers = {"low": None, "high": None, "outside": "refuse"}
        features = tuple(
            msgspec.structs.replace(item, **numbers) if isinstance(item, NumericFeature) else item
            for item in self.features
        )
        return msgspec.structs.replace(self, features=features)


class Specification(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All that is fixed when a policy is created."""

    name: Name
    arms: Annotated[tuple[Label, ...], Meta(min_length=1, max_length=MOST_ARMS)]
    features: Annotated[tuple[Feature, ...], Meta(min_length=1, max_length=MOST_FEATURES)]
    intercept: bool = True
    policy: PolicyDescription = msgspec.field(default_factory=PolicyDescription)
    #: Seconds that a decision waits for its reward; without it, for ever.
    reward_wait: Seconds | None = None
    #: What is learned when the wait is over; without it nothing is.
    default_reward: Amount | None = None
    #: "first": the first reward counts; "sum": all that come within the wait add up.
    rewards: Literal["first", "sum"] = "first"
    #: Plausible rewards; without it, all are.
    reward_range: RewardRange | None = None
    #: What happens when an arm's samples are not diverse enough; "hold" leaves it to a person.
    on_alarm: AnswerName = LEAVE_OPEN
    #: A random share of decisions for current practice, which the policy is compared with.
    control: Control | None = None
    #: All randomness; a fresh one is taken and recorded if it is not given.
    seed: Seed | None = None

    def encoding(self) -> Features:
        """The first version of its schema."""
        return Features(features=self.features, intercept=self.intercept)

    def check(self) -> None:
        """Refuse what could not run."""
        try:
            names("arms", self.arms, len(self.arms))
        except ValueError as error:
            raise InvalidError(str(error)) from None
        for arm in self.arms:
            check_readable("the name of an arm", arm)
        self.encoding().check_names()
        check_size(len(self.arms), self.encoding().schema().n_features)
        if self.reward_wait is None and self.default_reward is not None:
            raise InvalidError(
                "default_reward needs a reward_wait: the seconds after which it is given"
            )
        if self.reward_wait is None and self.rewards == "sum":
            raise InvalidError(
                'rewards="sum" needs a reward_wait: the seconds after which they are summed'
            )
        self._check_range()
        policies = [self.made_policy()]
        if self.control is not None:
            self.control.check(self.arms)
            if self.control.policy is not None:
                policies.append(self.control.policy.made())
        if self.default_reward is not None:
            for policy in policies:
                try:
                    check_rewards("default_reward", policy.reward_link(), self.default_reward)
                except ValueError as error:
                    raise InvalidError(str(error)) from None

    def _check_range(self) -> None:
        """Refuse a range of rewards that nothing is in, or not the default."""
        plausible, default = self.reward_range, self.default_reward
        if plausible is None:
            return
        ranges.check("reward_range", plausible.low, plausible.high)
        if plausible.low is None and plausible.high is None:
            raise InvalidError("reward_range must have low or high")
        if default is not None and not plausible.has(default):
            raise InvalidError(
                f"default_reward must be in reward_range, {plausible.words()}, got {default}"
            )

    def written_out(self) -> Specification:
        """The same, with every option of its policies: no later default can change its meaning."""
        policy = self._answering(self.policy)
        described = self.policy.written_out(policy).without_answer()
        if self._answering(described) != policy:
            raise InvalidError(f"policy {self.policy.policy} has an option that JSON cannot hold")
        control = None if self.control is None else self.control.written_out()
        return msgspec.structs.replace(self, policy=described, control=control)

    def made_policy(self) -> Policy:
        """The policy itself, answering alarms as ``on_alarm`` says.

        A log of release 0.1 may leave options out: they are those of that release. Logs that name
        no rule have the first.
        """
        stored = as_stored(as_in_release_0_1(msgspec.to_builtins(self.policy)))
        return self._answering(PolicyDescription(**stored))

    def made_agent(self, seed: int, encoding: Features) -> Agent:
        """The agent before its first decision, with these features."""
        return self._agent(self.made_policy(), seed, encoding)

    def made_control_agent(self, seed: int, encoding: Features) -> Agent | None:
        """The same of the control share's policy; None where there is none."""
        if self.control is None or self.control.policy is None:
            return None
        stored = as_stored(msgspec.to_builtins(self.control.policy))
        return self._agent(PolicyDescription(**stored).made(), seed, encoding)

    def _agent(self, policy: Policy, seed: int, encoding: Features) -> Agent:
        feature_names = encoding.schema().feature_names
        check_size(len(self.arms), len(feature_names))
        return Agent(
            policy,
            n_arms=len(self.arms),
            n_features=len(feature_names),
            seed=seed,
            arm_names=self.arms,
            feature_names=feature_names,
        )

    def _answering(self, description: PolicyDescription) -> Policy:
        """The policy of a description, which answers alarms as ``on_alarm`` says."""
        if "on_alarm" in description.options:
            raise InvalidError("on_alarm is a field of the policy's own, not one of policy.options")
        try:
            return description.made().answering(self.on_alarm)
        except ValueError as error:
            raise InvalidError(str(error)) from None
