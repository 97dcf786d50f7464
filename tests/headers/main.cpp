// SPDX-License-Identifier: Apache-2.0
// tests/headers/main.cpp: the program into which all the one-header files are linked; linking it is the test.
int main() { return 0; }
