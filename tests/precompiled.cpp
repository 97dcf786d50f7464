// SPDX-License-Identifier: Apache-2.0
// tests/precompiled.cpp: the program that a precompiled header must belong to; the tests use its header.
int main() {}
