// SPDX-License-Identifier: Apache-2.0
// tests/precompiled.cpp: the source that a precompiled header needs; the tests share the header.
