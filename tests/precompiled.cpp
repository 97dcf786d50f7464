// SPDX-License-Identifier: Apache-2.0
// tests/precompiled.cpp: a precompiled header must belong to a program; the tests use the header of this one.
int main() {}
