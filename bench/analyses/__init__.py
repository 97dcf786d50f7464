# SPDX-License-Identifier: Apache-2.0
# bench/analyses/__init__.py: five analyses of particle physics, which benchmarks and tests run.
import importlib

from .events import made_events

NAMES = ["ttbar", "zz_four_leptons", "jets_and_met", "hbb", "wwz_four_leptons"]


def modules():
    """Each has `COLLECTIONS`, which its events must contain, and `run(events)`."""
    return [importlib.import_module(f"{__name__}.{name}") for name in NAMES]


__all__ = ["NAMES", "made_events", "modules"]
