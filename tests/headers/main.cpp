// SPDX-License-Identifier: Apache-2.0
// tests/headers/main.cpp: the program that all the one-header files link into; linking it is the test.
int main() { return 0; }
