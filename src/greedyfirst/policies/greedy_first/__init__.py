"""Greedy-First: greedy until an arm's samples are not diverse enough.

``policy`` the algorithm; ``arm_by_arm`` what it does without a fallback; ``watch`` what each arm
has seen, and when it is tested; ``statistic`` what is tested, one file each
(``smallest_eigenvalue``); ``answers`` what is done at an alarm, one file each; ``phases`` the
switch and the way back; ``warm_start`` what the fallback is told; ``report`` all of it in words.
"""

from greedyfirst.policies.greedy_first.answers.answer import ANSWERS, Answer
from greedyfirst.policies.greedy_first.answers.drop import Drop
from greedyfirst.policies.greedy_first.answers.explore import Explore
from greedyfirst.policies.greedy_first.answers.explore_arm import ExploreArm
from greedyfirst.policies.greedy_first.answers.hold import Hold
from greedyfirst.policies.greedy_first.policy import GreedyFirst
from greedyfirst.policies.greedy_first.report import ArmDiversity, DiversityReport
from greedyfirst.policies.greedy_first.smallest_eigenvalue import SmallestEigenvalue
from greedyfirst.policies.greedy_first.statistic import STATISTICS, Statistic

__all__ = [
    "ANSWERS",
    "STATISTICS",
    "Answer",
    "ArmDiversity",
    "DiversityReport",
    "Drop",
    "Explore",
    "ExploreArm",
    "GreedyFirst",
    "Hold",
    "SmallestEigenvalue",
    "Statistic",
]
