# SPDX-License-Identifier: Apache-2.0
# upsweep_report/__init__.py: the report: pages of figures and step-by-step drawings, from results of `upsweep bench`.
