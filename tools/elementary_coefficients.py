#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# tools/elementary_coefficients.py: computes the polynomials, constants and table of cpu/elementary/coefficients.hpp.
"""python3 tools/elementary_coefficients.py writes the file; --check compares it (exit status 1 if it differs).

It needs mpmath, which `make setup` does not install: the file is committed. Each polynomial is a minimax approximation by
the exchange algorithm of Remez, in 45 digits. Its coefficients are then rounded to double. The comment of a polynomial
states its interval, and the largest error that it causes with rounded coefficients.
"""

import pathlib
import sys

import mpmath as mp

mp.mp.dps = 45
FILE = pathlib.Path(__file__).resolve().parent.parent / "src" / "cpu" / "elementary" / "coefficients.hpp"
GRID = 300


def chebyshev(low, high, count):
    """`count` points of [low, high], dense at its ends."""
    middle, half = (low + high) / 2, (high - low) / 2
    return [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def horner(coefficients, x):
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * x + c
    return value


def remez(function, weight, low, high, count):
    """The `count` coefficients of p that minimize the largest weight(x) * |p(x) - function(x)|."""
    values = [(x, function(x), weight(x)) for x in chebyshev(low, high, GRID)]
    reference = [(x, function(x), weight(x)) for x in chebyshev(low, high, count + 1)]
    # A weight of zero inside the interval leaves the level of the error open there.
    smallest = max(w for _, _, w in values) / 10**6
    coefficients = []
    for _ in range(10):
        rows = mp.matrix(count + 1, count + 1)
        right = mp.matrix(count + 1, 1)
        for i, (x, f, w) in enumerate(reference):
            for j in range(count):
                rows[i, j] = x**j
            rows[i, count] = (-1) ** i / max(w, smallest)
            right[i] = f
        solution = mp.lu_solve(rows, right)
        coefficients, level = list(solution)[:count], abs(solution[count])
        extrema = []  # the largest error of each run of errors with one sign
        for x, f, w in values:
            error = max(w, smallest) * (horner(coefficients, x) - f)
            if not extrema or (extrema[-1][0] > 0) != (error > 0):
                extrema.append((error, x, f, w))
            elif abs(error) > abs(extrema[-1][0]):
                extrema[-1] = (error, x, f, w)
        while len(extrema) > count + 1:
            del extrema[0 if abs(extrema[0][0]) < abs(extrema[-1][0]) else -1]
        if len(extrema) < count + 1 or max(abs(error[0]) for error in extrema) <= level * mp.mpf("1.01"):
            break
        reference = [extremum[1:] for extremum in extrema]
    return coefficients


def rounded(function, weight, low, high, count):
    """Coefficients of p as doubles, and the largest weight(x) * |p(x) - function(x)| on the interval."""
    low, high = mp.mpf(low), mp.mpf(high)
    found = [float(c) for c in remez(function, weight, low, high, count)]
    exact = [mp.mpf(c) for c in found]
    worst = max(weight(x) * abs(horner(exact, x) - function(x)) for x in chebyshev(low, high, GRID))
    return found, worst


def series(term, count=60):
    """The sum of term(n) for n = 0, 1, …, which converges quickly."""
    return mp.fsum(term(n) for n in range(count))


LN2 = mp.log(2)
HALF_LN2 = LN2 / 2 * mp.mpf("1.0005")
QUARTER_PI = mp.pi / 4 * mp.mpf("1.0005")
TAN_EIGHTH_PI = mp.tan(mp.pi / 8) * mp.mpf("1.0005")
LOG_S = mp.mpf("0.312") / mp.mpf("1.688") * mp.mpf("1.0005")
LOG_R = mp.mpf(1) / 128


def exp_tail(r):
    return series(lambda n: r**n / mp.factorial(n + 2), 30)


def expm1_tail(r):
    return series(lambda n: r**n / mp.factorial(n + 3), 30)


def sinh_tail(z):
    return series(lambda n: z**n / mp.factorial(2 * n + 3), 20)


def cosh_tail(z):
    return series(lambda n: z**n / mp.factorial(2 * n + 2), 20)


def sin_tail(z):
    return series(lambda n: (-1) ** (n + 1) * z**n / mp.factorial(2 * n + 3), 20)


def cos_tail(z):
    return series(lambda n: (-1) ** n * z**n / mp.factorial(2 * n + 4), 20)


def log_tail(z):
    return series(lambda n: 2 * z**n / (2 * n + 3), 40)


def log1p_tail(r):
    return series(lambda n: (-1) ** n * r**n / (n + 3), 40)


def atan_tail(z):
    return series(lambda n: (-1) ** (n + 1) * z**n / (2 * n + 3), 70)


def asin_tail(z):
    x = mp.sqrt(z)
    if z < mp.mpf("1e-12"):
        return mp.mpf(1) / 6 + z * 3 / 40 + z * z * 15 / 336
    return (mp.asin(x) - x) / (z * x)


def cbrt_inverse(r):
    return mp.cbrt(1 / r) if r > 0 else mp.mpf(0)


# Columns: name; what it is; function; weight; ends of the interval; number of coefficients for float64 and for float32.
# The relative error of the elementary function is the weight times the error of the polynomial.
POLYNOMIALS = [
    ("kExp", "(exp(r) - 1 - r) / r^2 in r", exp_tail, lambda r: r * r * mp.exp(-r), -HALF_LN2, HALF_LN2, 11, 5),
    ("kExpm1", "(exp(r) - 1 - r - r^2 / 2) / r^3 in r", expm1_tail, lambda r: r * r, -HALF_LN2, HALF_LN2, 10, 5),
    ("kSinh", "(sinh(r) - r) / r^3 in r^2", sinh_tail, lambda z: z, 0, HALF_LN2**2, 5, 0),
    ("kCosh", "(cosh(r) - 1) / r^2 in r^2", cosh_tail, lambda z: z, 0, HALF_LN2**2, 6, 0),
    ("kSin", "(sin(r) - r) / r^3 in r^2", sin_tail, lambda z: z * mp.mpf("1.11"), 0, QUARTER_PI**2, 6, 3),
    ("kCos", "(cos(r) - 1 + r^2 / 2) / r^4 in r^2", cos_tail, lambda z: z * z * mp.mpf("1.41"), 0, QUARTER_PI**2, 6, 3),
    ("kLog", "(2 atanh(s) - 2 s) / s^3 in s^2", log_tail, lambda z: z / 2, 0, LOG_S**2, 8, 4),
    ("kLog1p", "(log(1 + r) - r + r^2 / 2) / r^3 in r", log1p_tail, lambda r: r * r, -LOG_R, LOG_R, 7, 3),
    ("kAtan", "(atan(t) - t) / t^3 in t^2", atan_tail, lambda z: z, 0, TAN_EIGHTH_PI**2, 11, 5),
    ("kAsin", "(asin(x) - x) / x^3 in x^2", asin_tail, lambda z: z, 0, mp.mpf("0.25"), 12, 6),
    ("kCbrt", "1 / cbrt(r)", cbrt_inverse, lambda r: mp.cbrt(r), "0.85", "1.2", 5, 0),
]


def hexadecimal(value):
    """A double as a C++ literal, exactly."""
    return float(value).hex().replace("0x1.0000000000000p", "0x1p")


def leading(value, bits):
    """The first `bits` bits of a number, rounded to nearest."""
    scale = mp.mpf(2) ** (bits - 1 - mp.floor(mp.log(abs(value), 2)))
    return mp.nint(value * scale) / scale


def parts(value, *bits):
    """The number as a sum: parts with these numbers of bits, and the double that is nearest to the rest."""
    found = []
    for count in bits:
        found.append(leading(value, count))
        value -= found[-1]
    return [float(part) for part in found] + [float(value)]


# name, what it is, number, bits of the parts before the last one
CONSTANTS = [
    ("kLn2", "ln 2; products with integers below 2^11 are exact in the first part", LN2, (42,)),
    ("kHalfPi", "pi/2; products with integers up to 2^13 are exact in the first two parts", mp.pi / 2, (40, 40)),
    ("kPiOver4", "pi/4; products with integers up to 4 are exact in the first part", mp.pi / 4, (51,)),
    ("kPiOver2", "pi/2", mp.pi / 2, (53,)),
    ("kPi", "pi", mp.pi, (53,)),
    ("kInverseLn2", "1/ln 2; the first part is half a double", 1 / LN2, (26,)),
    ("kInverseLn10", "1/ln 10; the first part is half a double", 1 / mp.log(10), (26,)),
    ("kLog10Of2", "log10(2); products with integers below 2^11 are exact in the first part", mp.log10(2), (42,)),
    ("kLn2Halves", "ln 2; the first part is half a double", LN2, (26,)),
    ("kLn2Double", "ln 2", LN2, ()),
    ("kOneOverLn2", "1/ln 2", 1 / LN2, ()),
    ("kPiOver4Double", "pi/4", mp.pi / 4, ()),
    ("kTanPiOver8", "tan(pi/8)", mp.tan(mp.pi / 8), ()),
    ("kOneOverHalfPi", "2/pi", 2 / mp.pi, ()),
]
BINS, FIRST_BIN = 128, mp.mpf(181) / 256  # mantissas from FIRST_BIN to twice that, in bins of equal numbers of doubles
LOG_BITS = 42


def logarithms():
    """For each bin: 1/c in 10 bits, and log(c) in two parts. At 1 results are small: c is 1 in the bins on both sides."""
    rows = []
    for i in range(BINS):
        below = FIRST_BIN + mp.mpf(i) / 256
        # From 1 on, doubles are twice as far apart, and so are the ends of the bins.
        center = below + mp.mpf(1) / 512 if below < 1 else 2 * below - 1 + mp.mpf(1) / 256
        at_one = abs(center - 1) <= mp.mpf(1) / 256
        inverse = mp.mpf(1) if at_one else leading(1 / center, 10)
        log = -mp.log(inverse)
        high = mp.nint(log * 2**LOG_BITS) / 2**LOG_BITS
        rows.append((float(inverse), float(high), float(log - high)))
    return rows


def bits_of_two_over_pi(words):
    """The first bits of 2/pi after the binary point, in words of 64 bits."""
    with mp.workdps(45 + words * 20):
        value = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * words)))
    return [(value >> (64 * (words - 1 - i))) & (2**64 - 1) for i in range(words)]


def array(name, type_, rows, comment):
    """A constexpr array, with a comment above it."""
    lines = [f"// {comment}", f"constexpr {type_} {name}[] = {{"]
    return [*lines, *("    " + row + "," for row in rows), "};"]


def text():
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        "// cpu/elementary/coefficients.hpp: polynomials and constants, written by tools/elementary_coefficients.py.",
        "//",
        "// Include this header only in files that are compiled once per ISA: its constants have internal linkage.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "namespace upsweep::cpu {",
        "namespace {",
        "",
        "// clang-format off",
    ]
    for name, what, function, weight, low, high, full, short in POLYNOMIALS:
        for suffix, count in (("", full), ("Float", short)):
            if count != 0:
                coefficients, worst = rounded(function, weight, low, high, count)
                ends = f"[{mp.nstr(mp.mpf(low), 5)}, {mp.nstr(mp.mpf(high), 5)}]"
                comment = f"{what}, on {ends}: error 2^{mp.nstr(mp.log(worst, 2), 4)} of the function"
                lines += array(name + suffix, "double", map(hexadecimal, coefficients), comment)
    for name, what, number, bits in CONSTANTS:
        if bits:
            lines += array(name, "double", map(hexadecimal, parts(number, *bits)), what)
        else:
            lines.append(f"constexpr double {name} = {hexadecimal(number)};  // {what}")
    first = "1/c, and log(c) in two parts, for each of 128 bins of mantissas from 181/256 to twice that"
    lines.append(f"// {first}")
    lines.append("alignas(32) constexpr double kLogarithms[][4] = {")
    lines += ["    {" + ", ".join(map(hexadecimal, row)) + ", 0}," for row in logarithms()]
    lines.append("};")
    words = [f"0x{word:016x}" for word in bits_of_two_over_pi(20)]
    lines += array("kTwoOverPi", "std::uint64_t", words, "2/pi: bits after the binary point")
    return "\n".join([*lines, "// clang-format on", "", "}  // namespace", "}  // namespace upsweep::cpu", ""])


def main():
    if sys.argv[1:] == ["--check"]:
        if FILE.read_text() != text():
            sys.exit(f"{FILE} differs from what this script computes")
    else:
        FILE.write_text(text())


if __name__ == "__main__":
    main()
