# SPDX-License-Identifier: Apache-2.0
# tests/test_scaling_model.py: compares the model of docs/scaling.md with measurements that it was not fitted to, and
# checks the simulation of late ranks.
import math
import os
import sys

import pytest

sys.path.insert(0, os.path.join(os.environ["UPSWEEP_SOURCE_DIR"], "bench"))
import late_ranks
import scaling_model

MOST = 0.1  # maximum relative error of a fit


def names_of(fits, good):
    return [fit.what for fit in fits if (abs(fit.error) <= MOST) == good]


def test_a_fit_finds_what_made_the_points_and_does_not_see_the_one_held_back():
    points = {k: scaling_model.Point([k, 1], 3 * k + 5) for k in (1, 2, 7)} | {9: scaling_model.Point([9, 1], 64)}
    fit = scaling_model.fit("line", points, 9)
    assert fit.seconds_of == pytest.approx([3, 5])
    assert fit.error == pytest.approx(-0.5)


def test_gpus_that_were_held_back():
    assert not names_of(scaling_model.gpu_fits(), good=False)


def test_cores_that_were_held_back():
    """As in the next test, the page states for which calls the model is wrong."""
    assert names_of(scaling_model.core_fits(), good=False) == ["reduce, float64"]


def test_scans_of_empty_shares_that_were_held_back():
    """The page states for which numbers of ranks the model is wrong."""
    assert names_of(scaling_model.round_fits(), good=False) == ["64 ranks"]


def test_a_call_of_fewer_collectives_is_noticed(monkeypatch):
    monkeypatch.setattr(scaling_model, "COLLECTIVES", 1)
    assert len(names_of(scaling_model.round_fits(), good=False)) > 1


def test_ranks_that_were_held_back():
    assert not names_of(scaling_model.rank_fits(), good=False)


def test_a_model_of_cores_that_share_nothing_is_noticed(monkeypatch):
    terms = scaling_model.core_terms
    monkeypatch.setattr(scaling_model, "core_terms", lambda *of: terms(*of)[:1])
    assert len(names_of(scaling_model.core_fits(), good=False)) > 5


def test_calls_are_work_on_one_host_and_carries_on_very_many():
    for call in scaling_model.CALLS.values():
        alone = scaling_model.call_seconds(call, 2**30, 1)
        assert alone.all == alone.work == pytest.approx(2**30 * call.seconds_each)
        many = scaling_model.call_seconds(call, 2**30, 10**7)
        assert many.carries > max(many.work, many.rounds)
        half = scaling_model.half_efficient(call, 2**30)
        assert scaling_model.call_seconds(call, 2**30, half).work >= scaling_model.call_seconds(call, 2**30, half).all / 2


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 1000])
def test_without_late_ranks_a_chain_takes_all_messages_and_a_tree_its_levels(ranks):
    fold, message = late_ranks.FOLD_S, late_ranks.MESSAGE_S
    assert late_ranks.simulated(late_ranks.chain, ranks, 0) == pytest.approx(fold + (ranks - 1) * message)
    # Up, and then down to the rank whose path has the most right turns.
    down = max(rank.bit_count() for rank in range(ranks))
    assert late_ranks.simulated(late_ranks.tree, ranks, 0) == pytest.approx(fold + (math.ceil(math.log2(ranks)) + down) * message)


@pytest.mark.parametrize("schedule", [late_ranks.chain, late_ranks.tree])
def test_nobody_is_done_before_the_latest_fold(schedule):
    for late in range(8):
        world = late_ranks.World(0, 0)
        world.folds = lambda ranks, late=late: [1.0 + (rank == late) for rank in range(ranks)]
        assert 2 <= schedule(8, world) < 2 + 20 * late_ranks.MESSAGE_S
