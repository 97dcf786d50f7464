// SPDX-License-Identifier: Apache-2.0
// io/npy_writer.cpp: writes .npy files of version 1.0.
#include "io/npy_writer.hpp"

#include <fmt/format.h>

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

char letter_of(const NpyElements& elements) {
  switch (elements.kind) {
    case NpyKind::boolean:
      return 'b';
    case NpyKind::date:
      return 'M';
    case NpyKind::duration:
      return 'm';
    case NpyKind::number:
      break;
  }
  return is_float(elements.type) ? 'f' : is_signed(elements.type) ? 'i' : 'u';
}

std::string header(const NpyElements& elements, std::int64_t count) {
  const char order = size_of(elements.type) == 1 ? '|' : '<';
  const std::string unit = elements.unit.empty() ? "" : fmt::format("[{}]", elements.unit);
  const std::string dict = fmt::format("{{'descr': '{}{}{}{}', 'fortran_order': False, 'shape': ({},), }}", order,
                                       letter_of(elements), size_of(elements.type), unit, count);
  constexpr std::int64_t kPrefix = 10;  // magic number, version and length
  constexpr std::int64_t kLength = kHeader - kPrefix;
  return fmt::format("{}{}{}{}{}{:<{}}\n", kNpyMagic, '\x01', '\0', static_cast<char>(kLength), '\0', dict,
                     kLength - 1);
}

}  // namespace

struct NpyWriter::State {
  State(const std::string& path, const NpyElements& all, std::int64_t element_count)
      : file(path, element_count == kUnknown ? Writing::front_last : Writing::in_order),
        elements(all),
        announced(element_count) {
    file.write(header(elements, std::max<std::int64_t>(announced, 0)).data(), kHeader);
  }

  void write(const void* from, std::int64_t count) {
    written += count;
    if (announced != kUnknown && written > announced) {
      throw Error(Code::malformed,
                  fmt::format("{}: {} elements were announced, but more are written", file.name(), announced));
    }
    file.write(from, count * size_of(elements.type));
  }

  void complete() {
    if (std::exchange(completed, true)) return;
    if (announced != kUnknown && written != announced) {
      throw Error(Code::malformed,
                  fmt::format("{}: {} elements were announced, but {} written", file.name(), announced, written));
    }
    if (announced == kUnknown) file.rewrite_front(header(elements, written));
    file.complete();
  }

  OutputFile file;
  NpyElements elements;
  std::int64_t announced;
  std::int64_t written = 0;
  bool completed = false;
};

NpyWriter::NpyWriter(const std::string& path, NpyElements elements, std::int64_t count)
    : state_(std::make_unique<State>(path, elements, count)) {}

NpyWriter::~NpyWriter() = default;

void NpyWriter::write(const void* elements, std::int64_t count) { state_->write(elements, count); }

void NpyWriter::complete() { state_->complete(); }

void NpyWriter::close() {
  state_->complete();
  state_->file.close();
}

void NpyWriter::take_back() noexcept { state_->file.take_back(); }

struct SharedNpyWriter::State {
  explicit State(NpyElements all) : elements(all) {}

  NpyElements elements;
  std::optional<OutputFile> whole;   // of the process that creates it
  std::optional<OutputRange> range;  // of any other process
};

SharedNpyWriter::SharedNpyWriter(const std::string& path, NpyElements elements)
    : state_(std::make_unique<State>(elements)) {
  state_->whole.emplace(path, Writing::shared);
  state_->whole->write(header(elements, 0).data(), kHeader);
}

SharedNpyWriter::SharedNpyWriter(const std::string& path, Type type, const std::string& temporary_path,
                                 std::int64_t first)
    : state_(std::make_unique<State>(NpyElements{type})) {
  state_->range.emplace(temporary_path, path, kHeader + first * size_of(type));
}

SharedNpyWriter::~SharedNpyWriter() = default;

void SharedNpyWriter::write(const void* elements, std::int64_t count) {
  const std::int64_t bytes = count * size_of(state_->elements.type);
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
  state_->whole->rewrite_front(header(state_->elements, count));
  state_->whole->close();
}

void SharedNpyWriter::take_back() noexcept { state_->whole->take_back(); }

}  // namespace upsweep::io
