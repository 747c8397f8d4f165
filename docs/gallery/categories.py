"""Categories: a table with text columns and missing values

A schema turns named columns into numbers: text becomes one column per level, a missing age
becomes the mean. The same schema encodes one new row at a time, so that past and future cases
look alike to the agent.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from greedyfirst import Agent, GreedyFirst
from greedyfirst.tables import infer_schema

rng = np.random.default_rng(4)
customers = pd.DataFrame(
    {
        "age": rng.integers(18, 80, size=800).astype(float),
        "region": rng.choice(["north", "south", "east"], size=800, p=[0.5, 0.3, 0.2]),
        "channel": rng.choice(["web", "shop"], size=800),
    }
)
customers.loc[rng.random(800) < 0.1, "age"] = np.nan
schema = infer_schema(customers, intercept=True, standardise=True, impute="mean")
print("encoded as:", ", ".join(schema.feature_names))

offers = ["discount", "gift"]
worth = {"north": 0.8, "south": -0.6, "east": 0.1}  # how much better a gift is, by region
agent = Agent(GreedyFirst(), schema=schema, arms=offers, seed=1)
for customer in customers.to_dict("records"):
    offer = agent.choose(customer)
    gain = worth[customer["region"]] if offer == "gift" else 0.0
    agent.update(customer, offer, reward=gain + rng.normal(scale=0.2))

means = {}
for region in worth:
    discount, gift = agent.expected_rewards({"age": 50, "region": region, "channel": "web"})
    means[region] = gift - discount
    print(f"{region}: a gift is worth {gift - discount:+.2f} more (truth {worth[region]:+.2f})")

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
places = np.arange(3)
axes.bar(places - 0.2, list(worth.values()), width=0.4, label="truth", color="0.75")
axes.bar(places + 0.2, list(means.values()), width=0.4, label="learned", color="#0b6e4f")
axes.axhline(0, color="0.3", linewidth=0.8)
axes.set_xticks(places, list(worth))
axes.set(ylabel="gift minus discount", title="What 800 customers taught")
axes.legend()
figure.savefig("categories.png", dpi=120)
