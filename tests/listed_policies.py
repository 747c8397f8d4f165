"""The list behind ``test_every_policy.py``: a policy joins all common checks by a line here."""

from greedyfirst import (
    GLMUCB,
    OFUL,
    EpsilonGreedy,
    FixedArm,
    GLMGreedy,
    Greedy,
    GreedyFirst,
    OLSBandit,
    Oracle,
    PriorFreeThompsonSampling,
    ThompsonSampling,
    Uniform,
)

N_ARMS, N_FEATURES = 3, 4

_PLAIN = [
    Greedy(),
    Greedy(warmup="ridge"),
    Greedy(warmup="pinv", initial_pulls=2),
    OLSBandit(h=0.5),
    OLSBandit(h=0.5, q=3, warmup="ridge"),
    OLSBandit(warmup="pinv", initial_pulls=4),
    OLSBandit(h=0.5, q=2, warmup="pinv", initial_pulls=2, refresh="scheduled"),
    OFUL(),
    OFUL(regularization=0.5, delta=0.1, sigma=0.3),
    OFUL(sigma_start=0.1),
    ThompsonSampling(),
    ThompsonSampling(prior_mean=0.5, prior_covariance=2.0, sigma=0.3),
    ThompsonSampling(prior_mean=[0.5, 0, 0, -1], prior_covariance=[1, 2, 3, 4], sigma_start=9),
    ThompsonSampling(
        prior_covariance=[[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]], sigma=0.5
    ),
    PriorFreeThompsonSampling(),
    PriorFreeThompsonSampling(scale=0.05, delta=0.5, sigma=0.3),
    PriorFreeThompsonSampling(sigma_start=0.2),
    EpsilonGreedy(warmup="ridge"),
    EpsilonGreedy(epsilon=0.5, warmup="pinv", initial_pulls=1),
    EpsilonGreedy(epsilon=0.0, warmup="none"),
    Uniform(),
    FixedArm(),
    FixedArm(arm=2),
    Oracle(parameters=[[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, -1]]),
    Oracle(parameters=[[0.0] * 4] * 3),
    GLMGreedy(),
    GLMGreedy(link="probit", warmup="none", initial_pulls=2),
    GLMGreedy(link="poisson", memory=1),
    GLMGreedy(link="identity"),
    GLMUCB(x_max=2.0, b_max=0.5),
    GLMUCB(
        link="poisson",
        b_max=0.2,
        horizon=150,
        delta=0.1,
        reward_max=0.01,
        initial_pulls=2,
        warmup="none",
        memory=64,
    ),
]

# λ₀ = 0.5 trips the test soon after t₀, so that fallbacks have most of a run to themselves.
_SOON = {"warmup": "pinv", "t0": 30, "lambda0": 0.5}
_GREEDY_FIRST = [
    GreedyFirst(),
    GreedyFirst(warmup="ridge", initial_pulls=4, t0=40, lambda0=0.01, test_after=50),
    GreedyFirst(warmup="pinv", t0=25, span="pooled", lambda0_minimum=1e-3),
    GreedyFirst(**_SOON, span="pooled", carry_over=True, fallback=OLSBandit(h=0.5, q=2)),
    GreedyFirst(**_SOON, span="full", on_alarm="drop"),
    GreedyFirst(**_SOON, span="full", on_alarm="hold"),
    GreedyFirst(**_SOON, carry_over=False, fallback=Greedy(warmup="ridge", initial_pulls=1)),
    GreedyFirst(**_SOON, carry_over=False, fallback=OLSBandit(h=0.5, warmup="pinv")),
    GreedyFirst(**_SOON, carry_over=True, fallback=OFUL(sigma=0.3)),
    GreedyFirst(**_SOON, carry_over=True, fallback=ThompsonSampling()),
    GreedyFirst(
        **_SOON,
        initial_pulls=3,
        carry_over="initial",
        fallback=OLSBandit(warmup="pinv", initial_pulls=3, refresh="scheduled"),
    ),
    GreedyFirst(**_SOON, initial_pulls=2, carry_over="initial", fallback=OFUL(sigma=0.3)),
    GreedyFirst(**_SOON, fallback=PriorFreeThompsonSampling()),
    GreedyFirst(**_SOON, fallback=EpsilonGreedy(epsilon=0.3, warmup="pinv")),
    GreedyFirst(**_SOON, fallback=Uniform()),
    GreedyFirst(**_SOON, fallback=FixedArm(arm=1)),
    GreedyFirst(**_SOON, fallback=Oracle(parameters=[[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, -1]])),
    GreedyFirst(
        greedy=GLMGreedy(warmup="none", initial_pulls=3),
        t0=30,
        lambda0=0.5,
        fallback=GLMUCB(b_max=0.5, reward_max=0.01),
    ),
    GreedyFirst(
        greedy=GLMGreedy(initial_pulls=2),
        t0=30,
        lambda0=0.5,
        carry_over="initial",
        fallback=GLMUCB(b_max=0.5, reward_max=0.01),
    ),
    GreedyFirst(
        greedy=GLMGreedy(link="poisson", memory=64), t0=30, lambda0=0.5, fallback=OFUL(sigma=0.3)
    ),
    GreedyFirst(
        greedy=GLMGreedy(), t0=30, lambda0=0.5, carry_over=False, fallback=GLMGreedy(warmup="none")
    ),
]

POLICIES_WITH_OPTIONS = {
    f"{type(policy).__name__}-{number}": policy
    for number, policy in enumerate(_PLAIN + _GREEDY_FIRST)
}
