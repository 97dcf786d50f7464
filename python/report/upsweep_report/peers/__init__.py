# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/__init__.py: other libraries of Python on the problems of the ladders, measured as `upsweep bench` does.
