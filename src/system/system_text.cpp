// SPDX-License-Identifier: Apache-2.0
// system/system_text.cpp: reads a file of /proc or /sys, whose size is only known at its end.
#include "system/system_text.hpp"

#include <cstddef>
#include <cstdio>
#include <memory>

namespace upsweep {

std::string system_text(const std::filesystem::path& file) {
  constexpr std::size_t kStep = 4096;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> open(std::fopen(file.c_str(), "re"), &std::fclose);
  std::string text;
  if (open == nullptr) return text;
  for (;;) {
    const std::size_t length = text.size();
    text.resize(length + kStep);
    text.resize(length + std::fread(text.data() + length, 1, kStep, open.get()));
    if (text.size() < length + kStep) return text;
  }
}

}  // namespace upsweep
