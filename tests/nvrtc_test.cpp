// SPDX-License-Identifier: Apache-2.0
// tests/nvrtc_test.cpp: code compiled by NVRTC: what the cache stores, how it treats damaged files, and newer devices.
#include "cuda/nvrtc.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "upsweep/error.hpp"

namespace upsweep {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = R"(extern "C" __global__ void one(int* out) { *out = 1; })";

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::setenv("UPSWEEP_CACHE", cache_.c_str(), 1), 0);
    try {
      code_ = gpu::compiled(kSource, 9, 0);
    } catch (const Error& error) {
      if (error.code() == Code::unsupported) GTEST_SKIP() << "skipped: no NVRTC";
      throw;
    }
  }
  void TearDown() override { (void)::unsetenv("UPSWEEP_CACHE"); }

  [[nodiscard]] fs::path file() const {
    std::vector<fs::path> all(fs::directory_iterator(cache_), {});
    return all.size() == 1 ? all[0] : fs::path();
  }
  [[nodiscard]] std::string content() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void replace(const std::string& content) const { std::ofstream(file(), std::ios::binary) << content; }

  tests::TemporaryFolder folder_;
  const fs::path cache_ = folder_.path() / "not yet there";
  std::string code_;
};

TEST_F(NvrtcTest, MachineCodeIsKeptAndReadBack) {
  EXPECT_TRUE(
      code_.starts_with("\x7f"
                        "ELF"));
  const auto written = fs::last_write_time(file());
  EXPECT_EQ(gpu::compiled(kSource, 9, 0), code_);
  EXPECT_EQ(fs::last_write_time(file()), written);
}

TEST_F(NvrtcTest, ADamagedFileIsCompiledAnewAndReplaced) {
  const std::string whole = content();
  std::string flipped = whole;
  flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 1);
  for (const std::string& damaged :
       {flipped, whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() - 1), std::string(), whole + "x"}) {
    replace(damaged);
    EXPECT_EQ(gpu::compiled(kSource, 9, 0), code_);
    EXPECT_EQ(content(), whole);
  }
}

TEST_F(NvrtcTest, AFileSaysHowItWasCompiled) {
  EXPECT_NE(content().find("--fmad=false"), std::string::npos);
  std::string otherwise = content();
  otherwise.replace(otherwise.find("--fmad=false"), 12, "--fmad=true ");
  replace(otherwise);
  EXPECT_EQ(gpu::compiled(kSource, 9, 0), code_);
  EXPECT_NE(content(), otherwise);
}

TEST(NvrtcCache, OnlyAbsoluteFoldersAreUsed) {
  const auto folder_with = [](const char* own, const char* cache, const char* home) {
    for (const auto& [name, value] : {std::pair("UPSWEEP_CACHE", own), {"XDG_CACHE_HOME", cache}, {"HOME", home}}) {
      if (value == nullptr) {
        (void)::unsetenv(name);
      } else {
        (void)::setenv(name, value, 1);
      }
    }
    return gpu::cache_folder();
  };
  const std::string home = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  EXPECT_EQ(folder_with("/own", "/cache", "/home/a"), "/own");
  EXPECT_EQ(folder_with("own", "/cache", "/home/a"), "");
  EXPECT_EQ(folder_with("", "/cache", "/home/a"), "");
  EXPECT_EQ(folder_with(nullptr, "/cache", "/home/a"), "/cache/upsweep");
  EXPECT_EQ(folder_with(nullptr, "cache", "/home/a"), "/home/a/.cache/upsweep");
  EXPECT_EQ(folder_with(nullptr, nullptr, "."), "");
  EXPECT_EQ(folder_with(nullptr, nullptr, nullptr), "");
  (void)::setenv("HOME", home.c_str(), 1);
}

TEST_F(NvrtcTest, ADeviceNewerThanNvrtcGetsPtx) {
  const std::string code = gpu::compiled(kSource, 99, 0);
  EXPECT_NE(code.find(".target sm_"), std::string::npos) << code.substr(0, 200);
  EXPECT_NE(code.find(".entry one"), std::string::npos);
}

}  // namespace
}  // namespace upsweep
