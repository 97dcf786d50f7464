// SPDX-License-Identifier: Apache-2.0
// upsweep/ladder.hpp: the ladders as data: which rungs a problem has, what each one does, needs and moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace upsweep {

enum class Problem : std::uint8_t { scan, reduce, ragged, aggregate, subset_sum };

inline constexpr int kProblemCount = 5;

/// "scan", "reduce", "ragged", "aggregate", "subset-sum".
[[nodiscard]] std::string_view name(Problem problem) noexcept;
[[nodiscard]] std::optional<Problem> parse_problem(std::string_view text) noexcept;

enum class Kind : std::uint8_t {
  step,     ///< a step of the climb, written here
  library,  ///< what a user would pick instead, run under the same clock
};

enum class Backend : std::uint8_t { cpu, cuda };

/// When the same input gives the same bits. Integer results always do.
enum class Determinism : std::uint8_t {
  always,  ///< for any thread count, alignment and instruction set
  no,      ///< float results may change from run to run
};

/// How far a float sum may be from the true one: |error at i| <= factor · epsilon · sum |x0…xi|.
struct FloatBound {
  bool serial = true;  ///< factor = i: the rung folds one by one
  int constant = 0;    ///< otherwise factor = 2·(ceil(log2 n) + constant)

  [[nodiscard]] double factor(std::int64_t i, std::int64_t n) const noexcept;
};

/// A rung as its ladder declares it.
struct RungInfo {
  std::string_view id;       ///< "backend.idea"
  std::string_view idea;     ///< one line
  std::string_view needs;    ///< instruction set or device; "any CPU"
  std::string_view traffic;  ///< memory traffic beyond caches, n: elements or lists
  Kind kind = Kind::step;
  Determinism determinism = Determinism::always;
  FloatBound float_bound = {};
  bool host_adds = false;    ///< on a GPU: the host does the last part, so that only calls that wait run it
  bool host_memory = false;  ///< on a GPU: takes pinned host memory too

  [[nodiscard]] constexpr Backend backend() const noexcept {
    return id.starts_with("cuda.") ? Backend::cuda : Backend::cpu;
  }
};

/// The rungs of a problem, from the naive loop up.
[[nodiscard]] std::vector<RungInfo> ladder(Problem problem);

}  // namespace upsweep
