# SPDX-License-Identifier: Apache-2.0
# upsweep_report/peers/__init__.py: other Python libraries on the ladders' problems, measured as `upsweep bench` does.
