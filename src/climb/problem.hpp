// SPDX-License-Identifier: Apache-2.0
// climb/problem.hpp: a problem as its folder declares it, and an instance of one: data, calls, verification, bytes
// moved.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "upsweep/climb.hpp"
#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"
#include "upsweep/policy.hpp"

namespace upsweep {

class Guest;

/// Whether the rung is a custom rung of the user. It may add floats in any order.
inline bool is_guest(const RungInfo& rung) { return rung.id.starts_with("guest."); }

/// Where a custom rung runs: on this number of threads, or in this stream of a GPU.
using GuestPlace = std::variant<int, gpu::Stream>;

/// An array of an instance in host memory. An array on a device has the same number of bytes.
struct HostArray {
  void* data;
  std::int64_t bytes;
  bool is_output;
};

/// The instance's arrays at one place, in the order of Instance::arrays().
using Arrays = void* const*;

/// A library that is not a rung of the ladder, timed together with the rungs.
struct Peer {
  Row row;
  std::function<void()> run;
  double share = 1;  ///< the share of the instance's work that run() does
};

/// One instance of a problem: its data, the calls on it, and the check of their outputs.
class Instance {
 public:
  virtual ~Instance() = default;

  /// The properties that are known before it runs.
  Group group;
  /// A custom rung of the user that is climbed together with the others; null: none.
  const Guest* guest = nullptr;

  /// The problem's arrays, inputs before outputs.
  [[nodiscard]] virtual std::vector<HostArray> arrays() = 0;
  /// The number of data sets that rungs are verified on. They are timed on the last one.
  [[nodiscard]] virtual int fills() const { return 1; }
  virtual void fill(int /*which*/) {}

  /// Makes one call on the first n elements, on the host's arrays or on a device's. Returns the rung; throws Error.
  virtual std::string_view run(const Policy& policy, Arrays at, std::int64_t n) = 0;
  virtual std::string_view run(const gpu::Policy& policy, Arrays at, std::int64_t n) = 0;
  /// Makes this call by the guest, if the problem accepts a guest there (climb/guest.hpp).
  virtual void run_guest(const GuestPlace&, Arrays, std::int64_t /*n*/) {
    throw Error(Code::unsupported, "no guest runs on this problem");
  }
  [[nodiscard]] virtual gpu::WorkspaceSize workspace(const gpu::Policy&) const { return {}; }
  /// Whether the rung can be run on these arrays at all.
  /// Whether the rung can run on these arrays at all.
  [[nodiscard]] virtual bool takes(const RungInfo& rung) const { return !rung.host_memory; }
  /// Whether a call of the rung on a GPU waits. Such a call cannot be captured, and stores its result in the instance.
  [[nodiscard]] virtual bool waits(const RungInfo& rung) const { return rung.host_adds; }
  /// Returns "", or what is wrong with the outputs of the rung in the host's arrays.
  [[nodiscard]] virtual std::string wrong(const RungInfo& rung) = 0;

  /// Whether overflow can be checked on this data.
  [[nodiscard]] virtual bool is_checkable() const { return false; }
  /// Runs the serial loop as a caller's compiler compiles it. Returns false if there is no such loop.
  virtual bool run_inlined() { return false; }
  /// The number of bytes that a run of the rung must read and write.
  [[nodiscard]] virtual double bytes(const RungInfo&) const { return group.bytes; }
  /// The seconds that a run will take, if they are known without a run.
  virtual std::optional<double> estimate(const RungInfo&) { return std::nullopt; }
  [[nodiscard]] virtual std::vector<Peer> peers() { return {}; }

  /// Verifies and times the row itself. Returns false if the row is like any other.
  virtual bool measure(Row&, const ClimbRequest&) { return false; }
  /// Adds details to a row that was timed on a GPU.
  virtual void add_details(Row&, const gpu::Policy&, Arrays) {}
  /// Adds results other than the rungs' times, after all rungs have run on the CPU.
  virtual void finish(int /*threads*/) {}
};

using Instances = std::vector<std::unique_ptr<Instance>>;

/// A problem, declared once.
struct Problem {
  ProblemInfo (*info)();
  /// Visits the requested instances one after the other, as they may be large. Throws Error.
  using Visit = std::function<void(Instance&)>;
  void (*visit_instances)(const ClimbRequest& request, Backend backend, const Visit& visit);
  std::span<const Study> studies;
};

/// Runs climb() for a problem that may be in no list.
std::vector<Group> climb(const ClimbRequest& request, const Problem& problem, const ClimbProgress& progress);

/// The requested types and sizes, or the usual ones. Throws invalid_argument for a type that the problem lacks.
[[nodiscard]] std::vector<Type> types_of(const ClimbRequest& request, const ProblemInfo& info);
[[nodiscard]] std::vector<std::int64_t> sizes_of(const ClimbRequest& request, const ProblemInfo& info);

/// "6,001,215".
[[nodiscard]] std::string grouped(std::int64_t value);

/// The value of a setting, if it is given.
inline std::optional<Setting> setting(const ClimbRequest& request, std::string_view name) {
  const auto found = request.settings.find(name);
  return found == request.settings.end() ? std::nullopt : std::optional(found->second);
}

/// "wrong from index 7", or "" for kNoIndex.
inline std::string wrong_at(std::int64_t index) {
  return index == kNoIndex ? "" : "wrong from index " + std::to_string(index);
}

/// A number with enough digits to tell it from any other.
template <class T>
std::string number_text(T value) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The byte that outputs are overwritten with before a rung is verified.
inline constexpr unsigned char kPoison = 0xA5;

/// "21 expected, 15 found".
template <class T>
std::string unlike(T expected, T found) {
  std::array<unsigned char, sizeof(T)> untouched{};
  untouched.fill(kPoison);
  const bool is_written = sizeof(T) < 4 || std::bit_cast<decltype(untouched)>(found) != untouched;
  return number_text(expected) + " expected, " + (is_written ? number_text(found) + " found" : "nothing written");
}

/// "wrong from index 7: 21 expected, 15 found".
template <class T>
std::string wrong_at(std::int64_t index, T expected, T found) {
  return wrong_at(index) + ": " + unlike(expected, found);
}

/// "estimated 1.5 s": why something was not run.
[[nodiscard]] std::string estimated(double seconds);

}  // namespace upsweep
