// SPDX-License-Identifier: Apache-2.0
// upsweep/ladder.hpp: the problems and their ladders as data: what each rung does, needs and moves.
#pragma once

#include "upsweep/detail/require_cpp20.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "upsweep/detail/containers.hpp"
#include "upsweep/types.hpp"

namespace upsweep {

enum class Kind : std::uint8_t {
  step,     ///< a step of the climb, implemented in this repository
  library,  ///< another library's implementation that a user could choose instead, timed with the same clock
};

enum class Backend : std::uint8_t { cpu, cuda };

/// The number of threads that a CPU rung runs on.
enum class Threads : std::uint8_t {
  asked,  ///< the number in the policy, if the input is long enough
  one,    ///< only the caller's
  every,  ///< every core, whatever the policy says
};

/// Whether the same input always gives the same bits. Integer results always do.
enum class Determinism : std::uint8_t {
  always,  ///< for any thread count, alignment and instruction set
  no,      ///< float results may change from run to run
};

/// The error bound of a float sum, compared with the exact one: |error at i| <= factor · epsilon · sum |x0…xi|.
struct FloatBound {
  bool serial = true;  ///< factor = i: the rung adds one by one
  int constant = 0;    ///< otherwise factor = 2·(ceil(log2 n) + constant)

  [[nodiscard]] double factor(std::int64_t i, std::int64_t n) const noexcept;
};

/// The description of a rung, as its ladder declares it.
struct RungInfo {
  std::string_view id;       ///< "backend.idea"
  std::string_view idea;     ///< one line
  std::string_view needs;    ///< instruction set or device; "any CPU"
  std::string_view traffic;  ///< memory traffic beyond caches, n: elements or lists
  std::string_view cost;     ///< work (operations) and depth (length of the longest chain of dependent operations)
  std::string_view limit;    ///< what prevents it from being faster
  Kind kind = Kind::step;
  Threads threads = Threads::asked;
  Determinism determinism = Determinism::always;
  FloatBound float_bound = {};
  bool host_adds = false;    ///< on a GPU: the host adds the last partial results, so only calls that wait run it
  bool host_memory = false;  ///< on a GPU: also accepts pinned host memory

  [[nodiscard]] constexpr Backend backend() const noexcept {
    return id.starts_with("cuda.") ? Backend::cuda : Backend::cpu;
  }
};

/// An input column of a ladder.
struct InputInfo {
  std::string_view name;          ///< "STARTS"
  std::optional<Type> type = {};  ///< the type that its elements are converted to; none: elements are not converted
  bool whole = false;             ///< decimals must be whole numbers, and are used without their scale
  bool positive = false;          ///< numbers greater than 0, also from text
};

/// An option that only one ladder has.
struct SettingInfo {
  std::string_view name;
  std::string_view help;
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool decimal = false;                            ///< may have decimals, if the input's elements do
  std::span<const std::string_view> choices = {};  ///< its possible values, by their position; empty: numbers
  std::optional<Backend> backend = {};             ///< concerns only that backend
};

/// The description of a problem, as its folder declares it.
struct UPSWEEP_CONTAINERS ProblemInfo {
  std::string_view name;                           ///< "scan"
  std::vector<RungInfo> rungs;                     ///< from the naive loop up
  std::span<const InputInfo> inputs;               ///< its input columns
  std::span<const Type> types = {};                ///< of generated elements; empty: the problem has fixed types
  std::span<const Type> usual_types = {};          ///< if none are requested
  std::span<const std::int64_t> usual_sizes = {};  ///< empty: the problem has special instances
  std::span<const SettingInfo> settings = {};
};

/// Returns every problem.
UPSWEEP_CONTAINERS [[nodiscard]] const std::vector<ProblemInfo>& problems();

/// Returns the problem with that name. Throws Error invalid_argument, which lists the problems.
[[nodiscard]] const ProblemInfo& problem(std::string_view name);

/// Returns the rungs of a problem, from the naive loop up. Throws as problem() does.
[[nodiscard]] inline const std::vector<RungInfo>& ladder(std::string_view name) { return problem(name).rungs; }

}  // namespace upsweep
