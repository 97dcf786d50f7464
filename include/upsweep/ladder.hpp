// SPDX-License-Identifier: Apache-2.0
// upsweep/ladder.hpp: the problems and their ladders as data: what each rung does, needs and moves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

enum class Kind : std::uint8_t {
  step,     ///< a step of the climb, written here
  library,  ///< what a user would pick instead, run under the same clock
};

enum class Backend : std::uint8_t { cpu, cuda };

/// How many threads a rung of the CPU runs on.
enum class Threads : std::uint8_t {
  asked,  ///< as many as the policy says, where the input is long enough
  one,    ///< the caller's
  every,  ///< every core, whatever the policy says
};

/// When the same input gives the same bits. Integer results always do.
enum class Determinism : std::uint8_t {
  always,  ///< for any thread count, alignment and instruction set
  no,      ///< float results may change from run to run
};

/// How far a float sum may be from the true one: |error at i| <= factor · epsilon · sum |x0…xi|.
struct FloatBound {
  bool serial = true;  ///< factor = i: the rung adds one by one
  int constant = 0;    ///< otherwise factor = 2·(ceil(log2 n) + constant)

  [[nodiscard]] double factor(std::int64_t i, std::int64_t n) const noexcept;
};

/// A rung as its ladder declares it.
struct RungInfo {
  std::string_view id;       ///< "backend.idea"
  std::string_view idea;     ///< one line
  std::string_view needs;    ///< instruction set or device; "any CPU"
  std::string_view traffic;  ///< memory traffic beyond caches, n: elements or lists
  std::string_view cost;     ///< work, and depth: operations, and how many of them wait for each other
  std::string_view limit;    ///< what keeps it from being faster
  Kind kind = Kind::step;
  Threads threads = Threads::asked;
  Determinism determinism = Determinism::always;
  FloatBound float_bound = {};
  bool host_adds = false;    ///< on a GPU: the host adds the last partials, so that only calls that wait run it
  bool host_memory = false;  ///< on a GPU: takes pinned host memory too

  [[nodiscard]] constexpr Backend backend() const noexcept {
    return id.starts_with("cuda.") ? Backend::cuda : Backend::cpu;
  }
};

/// A column that a ladder can be climbed on.
struct InputInfo {
  std::string_view name;          ///< "STARTS"
  std::optional<Type> type = {};  ///< what its elements are converted to; none: they stay what they are
  bool whole = false;             ///< decimals must be whole numbers, and are taken without their scale
  bool positive = false;          ///< numbers greater than 0, from text too
};

/// An option of one ladder alone.
struct SettingInfo {
  std::string_view name;
  std::string_view help;
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool decimal = false;                            ///< may have decimals, where the input's elements do
  std::span<const std::string_view> choices = {};  ///< its values are these, by their position; empty: numbers
  std::optional<Backend> backend = {};             ///< concerns that backend alone
};

/// A problem as its folder declares it.
struct UPSWEEP_CONTAINERS ProblemInfo {
  std::string_view name;                           ///< "scan"
  std::vector<RungInfo> rungs;                     ///< from the naive loop up
  std::span<const InputInfo> inputs;               ///< the columns that it is climbed on
  std::span<const Type> types = {};                ///< of generated elements; empty: the problem has types of its own
  std::span<const Type> usual_types = {};          ///< where none are asked for
  std::span<const std::int64_t> usual_sizes = {};  ///< empty: instances of its own
  std::span<const SettingInfo> settings = {};
};

/// Every problem there is.
UPSWEEP_CONTAINERS [[nodiscard]] const std::vector<ProblemInfo>& problems();

/// Throws Error invalid_argument, naming those there are.
[[nodiscard]] const ProblemInfo& problem(std::string_view name);

/// The rungs of a problem, from the naive loop up. Throws as problem() does.
[[nodiscard]] inline const std::vector<RungInfo>& ladder(std::string_view name) { return problem(name).rungs; }

}  // namespace upsweep
