"""How a policy and its arms stand, in plain words."""

from __future__ import annotations

from typing import NamedTuple

from greedyfirst.service.dashboard.wording import MODES, WHOLES, count, named
from greedyfirst.service.http.messages import (
    ArmDiversityView,
    DiversityView,
    PolicyView,
    StarvingArm,
)
from greedyfirst.service.state.alarm_record import AlarmRecord
from greedyfirst.service.state.answers import LEAVE_OPEN as HOLD

#: What is done about an arm that starves.
DOING = {
    "explored": "explored while it starves",
    "waiting for an answer": "waits for an answer",
    "nothing": "nothing is done about it",
}


class Standing(NamedTuple):
    """A status in a few words, "good", "bad" or neither, and what else there is to say."""

    status: str
    tone: str = ""
    more: str = ""


def arm_standing(arm: ArmDiversityView, diversity: DiversityView) -> Standing:
    """How an arm stands with the test of diversity."""
    if not arm.in_use:
        return Standing("not in use")
    if arm.pulls == 0 and arm.tripped_at is None:
        return Standing("no samples yet")
    if diversity.measure in WHOLES:
        return _share_standing(arm, diversity)
    if any(alarm.arm == arm.name for alarm in diversity.open_alarms):
        return Standing("alarm", "bad")
    if diversity.mode != "greedy":
        return Standing("explored" if diversity.mode == "fallback" else "not tested")
    if not arm.watched:
        return Standing("kept, not tested")
    if arm.threshold is None or arm.min_eigenvalue < arm.threshold:
        return Standing("not tested yet")
    return Standing("diverse enough", "good")


def _share_standing(arm: ArmDiversityView, diversity: DiversityView) -> Standing:
    """The same where arms are explored one by one."""
    more = ""
    if arm.starving and arm.tripped_at is not None:
        more = f"starves since reward {count(arm.tripped_at)}"
    elif not arm.starving and arm.fed_at is not None:
        more = f"since reward {count(arm.fed_at)}"
    if diversity.mode == "fallback":
        return Standing("explored, as all arms are", "", more if arm.starving else "")
    if arm.doing == "waiting for an answer":
        return Standing("starves", "bad", f"{more.removeprefix('starves ')}; waits for an answer")
    if arm.doing == "explored":
        return Standing(DOING["explored"], "", more.removeprefix("starves "))
    if not arm.watched:
        return Standing("kept, not tested", "", more if arm.starving else "fed " + more)
    if arm.starving and arm.tripped_at is None:
        return Standing("not tested yet")
    if arm.starving:
        return Standing("starves", "bad", f"{more.removeprefix('starves ')}; {DOING['nothing']}")
    return Standing("holds its share", "good", more)


class WayBack(NamedTuple):
    """Something that was decided about an arm, and the form that takes it back."""

    arm: str
    title: str
    meaning: str
    button: str
    #: The answer that takes it back, and the number of the alarm; None to put the arm back.
    answer: str | None = None
    alarm: int | None = None


def ways_back(alarms: AlarmRecord, diversity: DiversityView) -> list[WayBack]:
    """What can be taken back now: exploring, and arms that are not in use."""
    found = []
    if diversity.mode == "fallback":
        in_use = [each.name for each in diversity.arms if each.in_use]
        arm = diversity.culprit if diversity.culprit in in_use else in_use[0]
        found.append(
            WayBack(
                arm,
                "All arms are explored: return to greedy",
                "The policy takes the arm with the highest expected reward again. "
                f"{arm} is chosen only where it looks best, and is not tested any more; the other "
                "arms are tested again, and may raise alarms.",
                "Return to greedy",
                HOLD,
                alarms.newest.get(arm),
            )
        )
    for each in diversity.arms:
        name = each.name
        if not each.in_use:
            found.append(
                WayBack(
                    name,
                    f"{name} is not in use: put it back",
                    "It may be chosen again. What was learned of it stands, and it is tested as a "
                    "new arm would be.",
                    f"Put {name} back",
                )
            )
        elif diversity.mode == "greedy" and each.explored and name in alarms.newest:
            found.append(
                WayBack(
                    name,
                    f"{name} is explored while it starves: stop that",
                    "It is chosen only where it looks best, and is not tested any more.",
                    f"Stop exploring {name}",
                    HOLD,
                    alarms.newest[name],
                )
            )
    return found


def mode_of(policy: PolicyView) -> str:
    """How a policy decides: in a few words, a colon, and what that means."""
    explored = [each.arm for each in policy.starving if each.doing == "explored"]
    if policy.mode != "greedy" or not explored:
        return MODES[policy.mode]
    starve = "it starves" if len(explored) == 1 else "they starve"
    return (
        f"greedy, and explores {named(explored)}: takes the arm with the highest expected reward, "
        f"after giving {named(explored)} the benefit of the doubt, while {starve}"
    )


def starving_words(starving: StarvingArm) -> str:
    """An arm that starves, for lists of policies."""
    return f"{starving.arm}: since reward {count(starving.since)}, {DOING[starving.doing]}"
