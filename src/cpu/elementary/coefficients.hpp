// SPDX-License-Identifier: Apache-2.0
// cpu/elementary/coefficients.hpp: polynomials and constants, written by tools/elementary_coefficients.py.
//
// Include this header only in files that are compiled once per ISA: its constants have internal linkage.
#pragma once

#include <cstdint>

namespace upsweep::cpu {
namespace {

// clang-format off
// (exp(r) - 1 - r) / r^2 in r, on [-0.34675, 0.34675]: error 2^-60.2 of the function
constexpr double kExp[] = {
    0x1p-1,
    0x1.555555555555bp-3,
    0x1.5555555555503p-5,
    0x1.111111110ec3ap-7,
    0x1.6c16c16c303ebp-10,
    0x1.a01a01b38b78dp-13,
    0x1.a01a0136b96e0p-16,
    0x1.71ddf00036412p-19,
    0x1.27e5b3e4b8ae6p-22,
    0x1.af6c206338f4ap-26,
    0x1.1e3dde1cf674dp-29,
};
// (exp(r) - 1 - r) / r^2 in r, on [-0.34675, 0.34675]: error 2^-28.28 of the function
constexpr double kExpFloat[] = {
    0x1.fffffb98f57bap-2,
    0x1.5554910110a36p-3,
    0x1.5558f21e3ab70p-5,
    0x1.123a2088cd00cp-7,
    0x1.6a2453e12001ap-10,
};
// (exp(r) - 1 - r - r^2 / 2) / r^3 in r, on [-0.34675, 0.34675]: error 2^-60.23 of the function
constexpr double kExpm1[] = {
    0x1.5555555555559p-3,
    0x1.5555555555559p-5,
    0x1.111111110f6ccp-7,
    0x1.6c16c16c14aafp-10,
    0x1.a01a01afdd422p-13,
    0x1.a01a01af512bfp-16,
    0x1.71ddf860788ecp-19,
    0x1.27e4c7f22fa3ep-22,
    0x1.af5eb28e90a81p-26,
    0x1.1f927609bd3bbp-29,
};
// (exp(r) - 1 - r - r^2 / 2) / r^3 in r, on [-0.34675, 0.34675]: error 2^-31.25 of the function
constexpr double kExpm1Float[] = {
    0x1.55555579d3f38p-3,
    0x1.5554f204b3514p-5,
    0x1.1110a2dc449dfp-7,
    0x1.6d41251cb7e58p-10,
    0x1.a189c986842cdp-13,
};
// (sinh(r) - r) / r^3 in r^2, on [0.0, 0.12023]: error 2^-60.79 of the function
constexpr double kSinh[] = {
    0x1.5555555555559p-3,
    0x1.111111110f699p-7,
    0x1.a01a01afef0e5p-13,
    0x1.71ddf83807fc8p-19,
    0x1.af5ef34dfb531p-26,
};
// (cosh(r) - 1) / r^2 in r^2, on [0.0, 0.12023]: error 2^-64.81 of the function
constexpr double kCosh[] = {
    0x1p-1,
    0x1.555555555555cp-5,
    0x1.6c16c16c13efdp-10,
    0x1.a01a01b18b262p-16,
    0x1.27e4c4e8c994bp-22,
    0x1.1f956b790b268p-29,
};
// (sin(r) - r) / r^3 in r^2, on [0.0, 0.61747]: error 2^-56.82 of the function
constexpr double kSin[] = {
    -0x1.5555555555549p-3,
    0x1.111111110f861p-7,
    -0x1.a01a019c0e513p-13,
    0x1.71de3574bd4efp-19,
    -0x1.ae5e63cfd14dap-26,
    0x1.5d92479650edbp-33,
};
// (sin(r) - r) / r^3 in r^2, on [0.0, 0.61747]: error 2^-27.9 of the function
constexpr double kSinFloat[] = {
    -0x1.5555458d6a149p-3,
    0x1.11075b69e4c55p-7,
    -0x1.994cfbfc9619bp-13,
};
// (cos(r) - 1 + r^2 / 2) / r^4 in r^2, on [0.0, 0.61747]: error 2^-59.23 of the function
constexpr double kCos[] = {
    0x1.555555555554cp-5,
    -0x1.6c16c16c15162p-10,
    0x1.a01a019caef23p-16,
    -0x1.27e4f807d516ap-22,
    0x1.1ee9ea6c04223p-29,
    -0x1.8fadd00e5c793p-37,
};
// (cos(r) - 1 + r^2 / 2) / r^4 in r^2, on [0.0, 0.61747]: error 2^-32.78 of the function
constexpr double kCosFloat[] = {
    0x1.55554aac794b6p-5,
    -0x1.6c0c86decb865p-10,
    0x1.9a00e4dce2ba3p-16,
};
// (2 atanh(s) - 2 s) / s^3 in s^2, on [0.0, 0.034198]: error 2^-60.17 of the function
constexpr double kLog[] = {
    0x1.5555555555554p-1,
    0x1.999999999a669p-2,
    0x1.249249238ff13p-2,
    0x1.c71c7301ca188p-3,
    0x1.745cad661dd3ep-3,
    0x1.3b28654ce92ebp-3,
    0x1.0ebb135d2430ep-3,
    0x1.14ba88ea6a555p-3,
};
// (2 atanh(s) - 2 s) / s^3 in s^2, on [0.0, 0.034198]: error 2^-36.51 of the function
constexpr double kLogFloat[] = {
    0x1.555554b3bcd98p-1,
    0x1.999afdfaf7ff0p-2,
    0x1.241875c8d78e6p-2,
    0x1.e7b05e18d03bcp-3,
};
// (log(1 + r) - r + r^2 / 2) / r^3 in r, on [-0.0078125, 0.0078125]: error 2^-69.53 of the function
constexpr double kLog1p[] = {
    0x1.5555555555555p-2,
    -0x1.0000000000067p-2,
    0x1.9999999999c04p-3,
    -0x1.555555449c81dp-3,
    0x1.249249093e69fp-3,
    -0x1.00068f78534c0p-3,
    0x1.c72b9cd78aa85p-4,
};
// (log(1 + r) - r + r^2 / 2) / r^3 in r, on [-0.0078125, 0.0078125]: error 2^-40.52 of the function
constexpr double kLog1pFloat[] = {
    0x1.5555555085be8p-2,
    -0x1.0002515233b14p-2,
    0x1.99a093b87db30p-3,
};
// (atan(t) - t) / t^3 in t^2, on [0.0, 0.17174]: error 2^-58.58 of the function
constexpr double kAtan[] = {
    -0x1.555555555553dp-2,
    0x1.9999999995867p-3,
    -0x1.24924922adb0bp-3,
    0x1.c71c70e6398e5p-4,
    -0x1.745cf8e0dfb23p-4,
    0x1.3b111959cacdep-4,
    -0x1.10ebb9ec2d097p-4,
    0x1.df0f51112e8fcp-5,
    -0x1.9cd280665f2e8p-5,
    0x1.37d427ffc8583p-5,
    -0x1.2565246d002b3p-6,
};
// (atan(t) - t) / t^3 in t^2, on [0.0, 0.17174]: error 2^-30.5 of the function
constexpr double kAtanFloat[] = {
    -0x1.555549509ee1cp-2,
    0x1.9991a6dace2e3p-3,
    -0x1.23b6362736a9ep-3,
    0x1.b1fa116a35880p-4,
    -0x1.f22afaa0853a5p-5,
};
// (asin(x) - x) / x^3 in x^2, on [0.0, 0.25]: error 2^-55.7 of the function
constexpr double kAsin[] = {
    0x1.5555555555387p-3,
    0x1.333333336f90cp-4,
    0x1.6db6db41ceae9p-5,
    0x1.f1c72c6ed3bc6p-6,
    0x1.6e89ef5924f8cp-6,
    0x1.1c6c29792a9c2p-6,
    0x1.c6f85eef93c38p-7,
    0x1.8ee55db8c5921p-7,
    0x1.aaae0af166a6ep-8,
    0x1.40b5658313323p-6,
    -0x1.0af9e1ddf3cadp-6,
    0x1.05cff02880eacp-5,
};
// (asin(x) - x) / x^3 in x^2, on [0.0, 0.25]: error 2^-31.72 of the function
constexpr double kAsinFloat[] = {
    0x1.55554c36ecc9fp-3,
    0x1.33388e8c50838p-4,
    0x1.6cac40ae0ab1cp-5,
    0x1.04a632e3cff8fp-5,
    0x1.d7f43bd25614ap-7,
    0x1.33bb243d37ff0p-5,
};
// 1 / cbrt(r), on [0.85, 1.2]: error 2^-19.69 of the function
constexpr double kCbrt[] = {
    0x1.dde4ced7fecddp+0,
    -0x1.d866af119befbp+0,
    0x1.8ec64edaf4b96p+0,
    -0x1.6d30f239b3708p-1,
    0x1.129ff7c96c2f3p-3,
};
// ln 2; products with integers below 2^11 are exact in the first part
constexpr double kLn2[] = {
    0x1.62e42fefa3800p-1,
    0x1.ef35793c76730p-45,
};
// pi/2; products with integers up to 2^13 are exact in the first two parts
constexpr double kHalfPi[] = {
    0x1.921fb54442000p+0,
    0x1.a308d3131a000p-41,
    -0x1.d747f23e32ed7p-83,
};
// pi/4; products with integers up to 4 are exact in the first part
constexpr double kPiOver4[] = {
    0x1.921fb54442d18p-1,
    0x1.1a62633145c07p-55,
};
// pi/2
constexpr double kPiOver2[] = {
    0x1.921fb54442d18p+0,
    0x1.1a62633145c07p-54,
};
// pi
constexpr double kPi[] = {
    0x1.921fb54442d18p+1,
    0x1.1a62633145c07p-53,
};
// 1/ln 2; the first part is half a double
constexpr double kInverseLn2[] = {
    0x1.7154768000000p+0,
    -0x1.6a3e80f444178p-27,
};
// 1/ln 10; the first part is half a double
constexpr double kInverseLn10[] = {
    0x1.bcb7b18000000p-2,
    -0x1.6c8d78e6acaa4p-29,
};
// log10(2); products with integers below 2^11 are exact in the first part
constexpr double kLog10Of2[] = {
    0x1.34413509f7800p-2,
    0x1.fef311f12b358p-46,
};
// ln 2; the first part is half a double
constexpr double kLn2Halves[] = {
    0x1.62e4300000000p-1,
    -0x1.05c610ca86c39p-29,
};
constexpr double kLn2Double = 0x1.62e42fefa39efp-1;  // ln 2
constexpr double kOneOverLn2 = 0x1.71547652b82fep+0;  // 1/ln 2
constexpr double kPiOver4Double = 0x1.921fb54442d18p-1;  // pi/4
constexpr double kTanPiOver8 = 0x1.a827999fcef32p-2;  // tan(pi/8)
constexpr double kOneOverHalfPi = 0x1.45f306dc9c883p-1;  // 2/pi
// 1/c, and log(c) in two parts, for each of 128 bins of mantissas from 181/256 to twice that
alignas(32) constexpr double kLogarithms[][4] = {
    {0x1.6900000000000p+0, -0x1.5ff3070a79000p-2, -0x1.e9e439f105039p-45, 0},
    {0x1.6700000000000p+0, -0x1.5a42ab0f4d000p-2, 0x1.e63af2df7ba69p-50, 0},
    {0x1.6500000000000p+0, -0x1.548a2c3add000p-2, -0x1.3167e63081cf7p-45, 0},
    {0x1.6300000000000p+0, -0x1.4ec9732600000p-2, -0x1.34d7aaf04d104p-45, 0},
    {0x1.6180000000000p+0, -0x1.4a7373ced0000p-2, 0x1.9a234ebf35449p-44, 0},
    {0x1.5f80000000000p+0, -0x1.44a41b463c000p-2, -0x1.1ee28f37cf612p-44, 0},
    {0x1.5d80000000000p+0, -0x1.3ecc460ef6000p-2, 0x1.6028627c1300fp-47, 0},
    {0x1.5b80000000000p+0, -0x1.38ebdb38ed000p-2, -0x1.90582e67d4ca0p-45, 0},
    {0x1.5a00000000000p+0, -0x1.347dd9a988000p-2, 0x1.5594dd4c58092p-45, 0},
    {0x1.5800000000000p+0, -0x1.2e8e2bae12000p-2, 0x1.67b1e99b72bd8p-45, 0},
    {0x1.5600000000000p+0, -0x1.2895a13de8000p-2, -0x1.a8d7ad24c13f0p-44, 0},
    {0x1.5480000000000p+0, -0x1.241558bfd1000p-2, -0x1.00fff3228fcadp-44, 0},
    {0x1.5280000000000p+0, -0x1.1e0d0c3371000p-2, -0x1.af8f2a9b0d4a0p-44, 0},
    {0x1.5100000000000p+0, -0x1.1980d2dd42000p-2, -0x1.b7b3a7a361c9ap-45, 0},
    {0x1.4f00000000000p+0, -0x1.136870293b000p-2, 0x1.d3e8499d67123p-44, 0},
    {0x1.4d80000000000p+0, -0x1.0ed005f658000p-2, 0x1.2dc75285aa803p-45, 0},
    {0x1.4c00000000000p+0, -0x1.0a324e2739000p-2, -0x1.c6bee7ef4030ep-47, 0},
    {0x1.4a00000000000p+0, -0x1.0402594b4d000p-2, -0x1.036b89ef42d7fp-48, 0},
    {0x1.4880000000000p+0, -0x1.feb0233e60000p-3, -0x1.f316e32d5e8c7p-45, 0},
    {0x1.4700000000000p+0, -0x1.f550a564b8000p-3, 0x1.323e3a09202fep-45, 0},
    {0x1.4500000000000p+0, -0x1.e8c0252aa6000p-3, 0x1.6805b80e8e6ffp-45, 0},
    {0x1.4380000000000p+0, -0x1.df46c0c722000p-3, -0x1.a5e82b0b79039p-44, 0},
    {0x1.4200000000000p+0, -0x1.d5c216b4fc000p-3, 0x1.1ba91bbca681bp-45, 0},
    {0x1.4080000000000p+0, -0x1.cc320c0176000p-3, -0x1.409039a653794p-45, 0},
    {0x1.3f00000000000p+0, -0x1.c2968558c2000p-3, 0x1.cfd73dee38a40p-45, 0},
    {0x1.3d80000000000p+0, -0x1.b8ef670420000p-3, -0x1.87533321788e0p-44, 0},
    {0x1.3c00000000000p+0, -0x1.af3c94e80c000p-3, 0x1.a4e633fcd9066p-52, 0},
    {0x1.3a80000000000p+0, -0x1.a57df28244000p-3, -0x1.b99c8ca1d9abbp-44, 0},
    {0x1.3900000000000p+0, -0x1.9bb362e7e0000p-3, 0x1.1f2a8a1ce0ffcp-45, 0},
    {0x1.3780000000000p+0, -0x1.91dcc8c340000p-3, -0x1.7bc6abddeff46p-44, 0},
    {0x1.3600000000000p+0, -0x1.87fa06520c000p-3, -0x1.22120401202fcp-44, 0},
    {0x1.3480000000000p+0, -0x1.7e0afd630c000p-3, -0x1.39e7c1d8f1034p-46, 0},
    {0x1.3300000000000p+0, -0x1.740f8f5404000p-3, 0x1.0b66c99018aa1p-44, 0},
    {0x1.3180000000000p+0, -0x1.6a079d0f7a000p-3, -0x1.5a3f8448d14f5p-44, 0},
    {0x1.3000000000000p+0, -0x1.5ff3070a7a000p-3, 0x1.8586f183bebf2p-44, 0},
    {0x1.2e80000000000p+0, -0x1.55d1ad4232000p-3, -0x1.add94dda647e8p-44, 0},
    {0x1.2d80000000000p+0, -0x1.4f099f4a24000p-3, 0x1.e9bf2fafeaf27p-44, 0},
    {0x1.2c00000000000p+0, -0x1.44d2b6ccb8000p-3, 0x1.70cc16135783cp-46, 0},
    {0x1.2a80000000000p+0, -0x1.3a8eb2d31a000p-3, -0x1.bafb77d5d503ep-46, 0},
    {0x1.2900000000000p+0, -0x1.303d718e48000p-3, 0x1.680b5ce3ecb05p-50, 0},
    {0x1.2800000000000p+0, -0x1.29552f8200000p-3, 0x1.5b967f4471dfcp-44, 0},
    {0x1.2680000000000p+0, -0x1.1eed90e2dc000p-3, -0x1.615637097648fp-46, 0},
    {0x1.2500000000000p+0, -0x1.1478584674000p-3, -0x1.563451027c750p-46, 0},
    {0x1.2400000000000p+0, -0x1.0d77e7cd08000p-3, -0x1.cb2cd2ee2f482p-44, 0},
    {0x1.2280000000000p+0, -0x1.02ebb42bf4000p-3, 0x1.5a8fa5ce00e5dp-46, 0},
    {0x1.2180000000000p+0, -0x1.f7b79fec38000p-4, 0x1.10987e897ed01p-47, 0},
    {0x1.2000000000000p+0, -0x1.e27076e2b0000p-4, 0x1.a342c2af0003cp-45, 0},
    {0x1.1f00000000000p+0, -0x1.d4313d66cc000p-4, 0x1.9454379135713p-45, 0},
    {0x1.1d80000000000p+0, -0x1.beba818148000p-4, 0x1.89b78b6df1f57p-44, 0},
    {0x1.1c80000000000p+0, -0x1.b05b49bee4000p-4, -0x1.ff22c18f84a5ep-47, 0},
    {0x1.1b00000000000p+0, -0x1.9ab4246204000p-4, 0x1.8a64826787061p-45, 0},
    {0x1.1a00000000000p+0, -0x1.8c345d6318000p-4, -0x1.b20f5acb42a66p-44, 0},
    {0x1.1880000000000p+0, -0x1.765bf23a6c000p-4, 0x1.ecbc035c4256ap-48, 0},
    {0x1.1780000000000p+0, -0x1.67bb0726ec000p-4, -0x1.f724b69ef5912p-49, 0},
    {0x1.1680000000000p+0, -0x1.590cafdf00000p-4, -0x1.c284f5722abaap-44, 0},
    {0x1.1500000000000p+0, -0x1.42edcbea64000p-4, -0x1.bc0eeea7c9acdp-46, 0},
    {0x1.1400000000000p+0, -0x1.341d7961bc000p-4, -0x1.1d09299837610p-44, 0},
    {0x1.1300000000000p+0, -0x1.253f62f0a0000p-4, -0x1.416f8fb69a701p-44, 0},
    {0x1.1180000000000p+0, -0x1.0ed839b554000p-4, 0x1.901f46d48abb4p-44, 0},
    {0x1.1080000000000p+0, -0x1.ffae9119b8000p-5, -0x1.303374262c554p-45, 0},
    {0x1.0f80000000000p+0, -0x1.e19070c278000p-5, 0x1.fea4664629e86p-45, 0},
    {0x1.0e80000000000p+0, -0x1.c355dd0920000p-5, -0x1.f2ccc9abf8388p-45, 0},
    {0x1.0d00000000000p+0, -0x1.95c830ec90000p-5, 0x1.c148297c5feb8p-45, 0},
    {0x1.0c00000000000p+0, -0x1.77458f6330000p-5, 0x1.181dce586af09p-44, 0},
    {0x1.0b00000000000p+0, -0x1.58a5bafc90000p-5, 0x1.b2b739570ad39p-45, 0},
    {0x1.0a00000000000p+0, -0x1.39e87b9fe8000p-5, -0x1.eafd480ad9015p-44, 0},
    {0x1.0900000000000p+0, -0x1.1b0d989240000p-5, 0x1.3401e9ae889bbp-44, 0},
    {0x1.0780000000000p+0, -0x1.d91a66c540000p-6, -0x1.e61f1658cfb9ap-45, 0},
    {0x1.0680000000000p+0, -0x1.9ace7551d0000p-6, 0x1.d75d97ec7c410p-45, 0},
    {0x1.0580000000000p+0, -0x1.5c45a51b90000p-6, 0x1.63bb6216d87d8p-45, 0},
    {0x1.0480000000000p+0, -0x1.1d7f7eb9f0000p-6, 0x1.4193a83fcc7a6p-46, 0},
    {0x1.0380000000000p+0, -0x1.bcf712c740000p-7, -0x1.c25e097bd9771p-46, 0},
    {0x1.0280000000000p+0, -0x1.3e7295d260000p-7, 0x1.609c1ff29a114p-45, 0},
    {0x1.0180000000000p+0, -0x1.7ee11ebd80000p-8, -0x1.749d3c2d23a07p-47, 0},
    {0x1p+0, 0x0.0p+0, 0x0.0p+0, 0},
    {0x1p+0, 0x0.0p+0, 0x0.0p+0, 0},
    {0x1.fa00000000000p-1, 0x1.82448a3880000p-7, 0x1.4554412c584e0p-44, 0},
    {0x1.f600000000000p-1, 0x1.432a925980000p-6, 0x1.98139928637fep-47, 0},
    {0x1.f280000000000p-1, 0x1.b5cc258b70000p-6, 0x1.8e611b8afbfe8p-46, 0},
    {0x1.ee80000000000p-1, 0x1.1ce5a62bc0000p-5, 0x1.a9cc78d8df999p-44, 0},
    {0x1.eb00000000000p-1, 0x1.5715c4c040000p-5, -0x1.8888ddfc47628p-44, 0},
    {0x1.e780000000000p-1, 0x1.91b073efd8000p-5, -0x1.9d7c53f76ca96p-46, 0},
    {0x1.e380000000000p-1, 0x1.d52ed64060000p-5, -0x1.3c85d2a29bbd6p-44, 0},
    {0x1.e000000000000p-1, 0x1.08598b59e4000p-4, -0x1.7e5dd7009902cp-46, 0},
    {0x1.dc80000000000p-1, 0x1.26536c3d8c000p-4, 0x1.b4bac097c5ba3p-47, 0},
    {0x1.d900000000000p-1, 0x1.4485e03dbc000p-4, 0x1.fad46e8d26ab7p-44, 0},
    {0x1.d600000000000p-1, 0x1.5e95a4d978000p-4, 0x1.1cb7ce1d17171p-44, 0},
    {0x1.d280000000000p-1, 0x1.7d33687c28000p-4, 0x1.3c88c3e706706p-44, 0},
    {0x1.cf00000000000p-1, 0x1.9c0c32d4d4000p-4, -0x1.ab7c09e838668p-44, 0},
    {0x1.cc00000000000p-1, 0x1.b6ac88dad4000p-4, 0x1.b1bdff50225c7p-44, 0},
    {0x1.c880000000000p-1, 0x1.d5f5565920000p-4, 0x1.0e239cc185469p-44, 0},
    {0x1.c580000000000p-1, 0x1.f0f70cdd98000p-4, 0x1.2e31f6c272c1ep-44, 0},
    {0x1.c280000000000p-1, 0x1.06135354d4000p-3, 0x1.6304628340ee9p-44, 0},
    {0x1.bf80000000000p-1, 0x1.13c2605c3a000p-3, -0x1.cf5fdd94f6509p-45, 0},
    {0x1.bc80000000000p-1, 0x1.2188fd9808000p-3, -0x1.b3a1e7f50c701p-44, 0},
    {0x1.b980000000000p-1, 0x1.2f677cbbc0000p-3, 0x1.52b302160f40dp-44, 0},
    {0x1.b680000000000p-1, 0x1.3d5e3126bc000p-3, 0x1.3fb2f85096c4bp-46, 0},
    {0x1.b380000000000p-1, 0x1.4b6d6fefe2000p-3, 0x1.522ecf56e7952p-46, 0},
    {0x1.b080000000000p-1, 0x1.59958ff1d6000p-3, -0x1.a1d059769ca05p-44, 0},
    {0x1.ad80000000000p-1, 0x1.67d6e9d786000p-3, -0x1.11e8830a706d3p-44, 0},
    {0x1.ab00000000000p-1, 0x1.73cb9074fe000p-3, -0x1.d66a90d0005a6p-44, 0},
    {0x1.a800000000000p-1, 0x1.823c16551a000p-3, 0x1.e0ddb9a631e83p-46, 0},
    {0x1.a580000000000p-1, 0x1.8e588ebac2000p-3, 0x1.b7d5cab2d1140p-44, 0},
    {0x1.a300000000000p-1, 0x1.9a8778deba000p-3, 0x1.470fa3efec390p-44, 0},
    {0x1.a000000000000p-1, 0x1.a93ed3c8ae000p-3, -0x1.8724350562169p-45, 0},
    {0x1.9d80000000000p-1, 0x1.b5971a213a000p-3, 0x1.9b50e83aa91dfp-44, 0},
    {0x1.9b00000000000p-1, 0x1.c2028ab180000p-3, -0x1.92e0ee55c7ac6p-45, 0},
    {0x1.9880000000000p-1, 0x1.ce816157f2000p-3, -0x1.9e0aba2099515p-45, 0},
    {0x1.9600000000000p-1, 0x1.db13db0d48000p-3, 0x1.2806a847527e6p-44, 0},
    {0x1.9380000000000p-1, 0x1.e7ba35eb78000p-3, -0x1.d5eee23793649p-47, 0},
    {0x1.9100000000000p-1, 0x1.f474b134e0000p-3, -0x1.bae49f1df7b5ep-44, 0},
    {0x1.8e80000000000p-1, 0x1.00a1c6adda000p-2, 0x1.1cd8d688b9e18p-44, 0},
    {0x1.8c00000000000p-1, 0x1.07138604d6000p-2, -0x1.e76324e912b17p-44, 0},
    {0x1.8980000000000p-1, 0x1.0d8fb813eb000p-2, 0x1.ee8c88753fa35p-46, 0},
    {0x1.8780000000000p-1, 0x1.12c77cd007000p-2, 0x1.3b2948a11f797p-46, 0},
    {0x1.8500000000000p-1, 0x1.1956d3b9bc000p-2, 0x1.7d2f73ad1aa14p-45, 0},
    {0x1.8280000000000p-1, 0x1.1ff0fe7cf4000p-2, 0x1.e9d5b513ff0c1p-44, 0},
    {0x1.8080000000000p-1, 0x1.25410494e5000p-2, 0x1.b1d7ac0ef77f2p-44, 0},
    {0x1.7e00000000000p-1, 0x1.2bef07cdc9000p-2, 0x1.a9cfa4a5004f4p-45, 0},
    {0x1.7c00000000000p-1, 0x1.314f1e1d36000p-2, -0x1.8e27ad3213cb8p-45, 0},
    {0x1.7980000000000p-1, 0x1.3811728565000p-2, -0x1.a71e493a0702bp-45, 0},
    {0x1.7780000000000p-1, 0x1.3d81fb5947000p-2, -0x1.22c7c2a9d37a4p-45, 0},
    {0x1.7580000000000p-1, 0x1.42f9f3ff62000p-2, 0x1.906440f7d3354p-44, 0},
    {0x1.7380000000000p-1, 0x1.487970e958000p-2, 0x1.dc1b8465cf25fp-44, 0},
    {0x1.7100000000000p-1, 0x1.4f637ebbaa000p-2, -0x1.fc158cb3124b9p-44, 0},
    {0x1.6f00000000000p-1, 0x1.54f431b7be000p-2, 0x1.a8954c0910952p-46, 0},
    {0x1.6d00000000000p-1, 0x1.5a8cadbbee000p-2, -0x1.7c79b0af7ecf8p-48, 0},
    {0x1.6b00000000000p-1, 0x1.602d08af09000p-2, 0x1.ebe9176df3f65p-46, 0},
};
// 2/pi: bits after the binary point
constexpr std::uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
};
// clang-format on

}  // namespace
}  // namespace upsweep::cpu
