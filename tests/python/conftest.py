# SPDX-License-Identifier: Apache-2.0
# tests/python/conftest.py: tests marked `long`, and the number of examples of hypothesis: make test-python runs more of
# both.


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes seconds; make test-python runs it, make test does not")


try:
    from hypothesis import settings
except ModuleNotFoundError:
    pass  # the tests that need it are skipped
else:
    settings.register_profile("short", max_examples=60, deadline=None, database=None)
    settings.register_profile("long", settings.get_profile("short"), max_examples=1500)
    settings.load_profile("short")
