// SPDX-License-Identifier: Apache-2.0
// tests/device_way_test.cpp: the text and JSON that report what limited a GPU transfer, and when --device auto chooses
// the GPU.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "apps/upsweep/device_way.hpp"
#include "rungs.hpp"

namespace upsweep::command {
namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr gpu::LinkRates kLink{.to_device = 55e9, .to_host = 54e9, .both = 48e9};

/// Ten seconds for 500 GB to the device and 400 GB back.
DeviceWay way_of(double to_device, double to_host, double host_copies, double kernel, double files = 0) {
  return {.use = {.seconds = 10,
                  .times = {.to_device = to_device, .kernel = kernel, .to_host = to_host},
                  .host_copies = host_copies,
                  .to_device = 500 * kGigabyte,
                  .to_host = 400 * kGigabyte,
                  .device_bytes = 128},
          .link = kLink,
          .seconds = 10 + files};
}

TEST(DeviceWay, NamesWhatWasAtWorkTheLongest) {
  EXPECT_EQ(limit_text(way_of(9.8, 9, 0, 2)), "the link: 50.0 GB/s to the device, of 55.0 GB/s");
  EXPECT_EQ(limit_text(way_of(9, 9.8, 0, 2)), "the link: 40.0 GB/s from the device, of 54.0 GB/s");
  EXPECT_EQ(limit_text(way_of(5, 5, 5, 9)), "kernels, which took 90 % of the time");
  EXPECT_EQ(limit_text(way_of(5, 5, 9.5, 2)),
            "host memory: copies to and from pinned memory took 95 % of the time; 50.0 GB/s to the device, of "
            "55.0 GB/s");
  EXPECT_EQ(limit_text(way_of(9.8, 9, 0, 2, 30)), "files: reading and writing them took 75 % of the time");
}

TEST(DeviceWay, AsJson) {
  const Json limit = limit_json(way_of(9.8, 9, 0, 2));
  EXPECT_EQ(limit["name"], "to_device");
  EXPECT_EQ(limit["to_device_gbps"], 50);
  EXPECT_EQ(limit["link_to_device_gbps"], 55);
  EXPECT_EQ(limit["device_bytes"], 128);
  EXPECT_DOUBLE_EQ(limit["share"].get<double>(), 0.98);
  DeviceWay both = way_of(9.8, 9, 0, 2);
  both += way_of(1, 1, 9.9, 1);
  EXPECT_EQ(limit_json(both)["name"], "to_device");
  both += way_of(1, 1, 9.9, 1);
  EXPECT_EQ(limit_json(both)["name"], "host_memory");
}

TEST(DeviceWay, ChoosesTheFasterOne) {
  // Sixteen cores read faster than the link, and faster than host memory can copy data to the GPU.
  const DeviceChoice cpu = choose_by_rates({.copy = 200e9, .read = 240e9}, kLink);
  EXPECT_FALSE(cpu.on_gpu);
  EXPECT_EQ(
      cpu.why,
      "on the CPU: the CPU reads its memory at 240.0 GB/s; the link to the GPU runs at 55.0 GB/s, and host memory "
      "copies at 66.7 GB/s");
  // Reads are slow and copies are not.
  EXPECT_TRUE(choose_by_rates({.copy = 200e9, .read = 30e9}, kLink).on_gpu);
  EXPECT_FALSE(choose_by_rates({.copy = 60e9, .read = 30e9}, kLink).on_gpu);
}

TEST(DeviceWay, AutoAsksNobodyAboutLittle) {
  EXPECT_EQ(choose_device(Common{}, kGigabyte).why, "");
  EXPECT_FALSE(choose_device(Common{}, kGigabyte).on_gpu);
  Common asked;
  asked.device = "cuda";
  EXPECT_TRUE(choose_device(asked, 100 * kGigabyte).on_gpu);
  asked.device = "cpu";
  EXPECT_FALSE(choose_device(asked, 100 * kGigabyte).on_gpu);
  EXPECT_EQ(choose_device(asked, 100 * kGigabyte).why, "");
}

TEST(DeviceWay, Limits) {
  EXPECT_EQ(parse_device_memory(""), 0);
  EXPECT_EQ(parse_device_memory("1GiB"), std::int64_t{1} << 30);
  EXPECT_EQ(tests::code_of([] { (void)parse_device_memory("much"); }), Code::invalid_argument);
  EXPECT_EQ(tests::code_of([] { (void)parse_device_memory("-1"); }), Code::invalid_argument);
}

}  // namespace
}  // namespace upsweep::command
