// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.cpp: writes .npy files of version 1.0.
#include "io/npy_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/format.hpp"
#include "io/output_file.hpp"
#include "upsweep/error.hpp"

namespace upsweep::io {
namespace {

constexpr std::int64_t kHeader = 128;  // NumPy writes this for every count, so it can be patched in place
constexpr std::int64_t kUnknown = -1;

std::string header(const std::string& descr, std::int64_t count) { return npy_header(descr, {count}, false); }

}  // namespace

std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape, bool is_fortran) {
  const std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", descr, is_fortran ? "True" : "False",
                  fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::int64_t kPrefix = 10;  // magic number, version and length
  constexpr std::int64_t kAlignment = 64;
  const std::int64_t least = kPrefix + std::ssize(dict) + 1;
  const std::int64_t length = std::max(kHeader, (least + kAlignment - 1) / kAlignment * kAlignment) - kPrefix;
  return fmt::format("{}{}{}{}{}{:<{}}\n", kNpyMagic, '\x01', '\0', static_cast<char>(length & 0xFF),
                     static_cast<char>(length >> 8), dict, length - 1);
}

std::string npy_descr(Type type) {
  const char order = size_of(type) == 1 ? '|' : '<';
  const char kind = is_float(type) ? 'f' : is_signed(type) ? 'i' : 'u';
  return fmt::format("{}{}{}", order, kind, size_of(type));
}

struct NpyWriter::State {
  State(const std::string& path, Type element_type, std::int64_t element_count, std::string name)
      : file(path, element_count == kUnknown ? Writing::front_last : Writing::in_order),
        type(element_type),
        descr(name.empty() ? npy_descr(type) : std::move(name)),
        announced(element_count) {
    file.write(header(descr, std::max<std::int64_t>(announced, 0)).data(), kHeader);
  }

  void write(const void* elements, std::int64_t count) {
    written += count;
    if (announced != kUnknown && written > announced) {
      throw Error(Code::malformed,
                  fmt::format("{}: {} elements were announced, but more are written", file.name(), announced));
    }
    file.write(elements, count * size_of(type));
  }

  void complete() {
    if (std::exchange(completed, true)) return;
    if (announced != kUnknown && written != announced) {
      throw Error(Code::malformed,
                  fmt::format("{}: {} elements were announced, but {} written", file.name(), announced, written));
    }
    if (announced == kUnknown) file.rewrite_front(header(descr, written));
    file.complete();
  }

  OutputFile file;
  Type type;
  std::string descr;
  std::int64_t announced;
  std::int64_t written = 0;
  bool completed = false;
};

NpyWriter::NpyWriter(const std::string& path, Type type, std::int64_t count, std::string descr)
    : state_(std::make_unique<State>(path, type, count, std::move(descr))) {}

NpyWriter::~NpyWriter() = default;

void NpyWriter::write(const void* elements, std::int64_t count) { state_->write(elements, count); }

void NpyWriter::complete() { state_->complete(); }

void NpyWriter::close() {
  state_->complete();
  state_->file.close();
}

void NpyWriter::take_back() noexcept { state_->file.take_back(); }

struct SharedNpyWriter::State {
  explicit State(Type stored, std::string name = {}) : type(stored), descr(std::move(name)) {}

  Type type;
  std::string descr;
  std::optional<OutputFile> whole;   // of the process that creates it
  std::optional<OutputRange> range;  // of any other process
};

SharedNpyWriter::SharedNpyWriter(const std::string& path, Type type, std::string descr)
    : state_(std::make_unique<State>(type, std::move(descr))) {
  state_->whole.emplace(path, Writing::shared);
  state_->whole->write(header(state_->descr, 0).data(), kHeader);
}

SharedNpyWriter::SharedNpyWriter(const std::string& path, Type type, const std::string& temporary_path,
                                 std::int64_t first)
    : state_(std::make_unique<State>(type)) {
  state_->range.emplace(temporary_path, path, kHeader + first * size_of(type));
}

SharedNpyWriter::~SharedNpyWriter() = default;

void SharedNpyWriter::write(const void* elements, std::int64_t count) {
  const std::int64_t bytes = count * size_of(state_->type);
  if (state_->whole) {
    state_->whole->write(elements, bytes);
  } else {
    state_->range->write(elements, bytes);
  }
}

void SharedNpyWriter::complete() {
  if (state_->range) state_->range->complete();
}

const std::string& SharedNpyWriter::temporary_path() const { return state_->whole->temporary_path(); }

void SharedNpyWriter::close(std::int64_t count) {
  state_->whole->rewrite_front(header(state_->descr, count));
  state_->whole->close();
}

void SharedNpyWriter::take_back() noexcept { state_->whole->take_back(); }

}  // namespace upsweep::io
