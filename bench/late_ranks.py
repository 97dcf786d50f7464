# SPDX-License-Identifier: Apache-2.0
# bench/late_ranks.py: simulates ranks that pass on carries, one after the other or in a tree, while some are late.
"""Each rank folds its share and then passes carries on. Some steps are held up, as by a system that does other work."""

import random

FOLD_S = 1e-3  # a rank's share
MESSAGE_S = 2e-6  # from rank to rank
HELD_UP_S, HELD_UP_ODDS = 1e-3, 1e-3  # the mean length of a hold-up, and its probability in a step


class World:
    """The times of ranks' steps. Without odds, no step is held up."""

    def __init__(self, odds, seed):
        self.odds = odds
        self.random = random.Random(seed)

    def step(self, seconds):
        is_held_up = self.odds > 0 and self.random.random() < self.odds
        return seconds + self.random.expovariate(1 / HELD_UP_S) if is_held_up else seconds

    def folds(self, ranks):
        return [self.step(FOLD_S) for _ in range(ranks)]

    def pass_on(self, *ready):
        """Returns when a message arrives that is sent once all times in `ready` have passed."""
        return max(ready) + self.step(MESSAGE_S)


def chain(ranks, world):
    """Each rank waits for the carry of the previous rank. Returns the seconds until all ranks have what precedes them."""
    folded = world.folds(ranks)
    prefix = 0.0
    for own in folded[:-1]:
        prefix = world.pass_on(prefix, own)
    return max(prefix, folded[-1])


def tree(ranks, world):
    """Carries go up a tree, merged in pairs. Then the prefix of each rank comes down again. The left rank of a pair continues."""
    level = world.folds(ranks)
    depth = 0
    while len(level) > 1:
        level = [world.pass_on(*level[i : i + 2]) for i in range(0, len(level), 2)]
        depth += 1
    for _ in range(depth):
        level = [at for above in level for at in (above, world.pass_on(above))]
    return max(level[:ranks])


def simulated(schedule, ranks, odds, rounds=3):
    """Returns the median of some runs."""
    runs = sorted(schedule(ranks, World(odds, seed)) for seed in range(rounds if odds else 1))
    return runs[len(runs) // 2]
