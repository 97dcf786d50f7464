// SPDX-License-Identifier: Apache-2.0
// climb/place.hpp: where an instance's arrays are stored and its rungs run, and the clock there: the host, or a GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "climb/clock.hpp"
#include "climb/problem.hpp"

namespace upsweep {

class ClimbPlace {
 public:
  virtual ~ClimbPlace() = default;

  [[nodiscard]] virtual Backend backend() const = 0;
  /// The GPU's name; empty for the CPU.
  [[nodiscard]] virtual std::string device() const = 0;
  /// Copies the host's inputs to the place.
  virtual void upload() = 0;
  /// Overwrites the outputs, at the place and on the host.
  virtual void poison() = 0;
  /// Copies the outputs to the host's arrays.
  virtual void fetch() = 0;
  /// Runs the rung (empty: the API's choice) on the first n elements. Returns the rung that ran; throws Error.
  virtual std::string_view run(std::string_view rung, std::int64_t n) = 0;
  /// Returns a run on all elements, to be timed. Its memory is allocated before.
  virtual std::function<void()> runner(std::string_view rung, Overflow overflow) = 0;
  /// The machine's limits: "copy", and "read" if rows are compared with that.
  virtual std::vector<Contender> limits() = 0;
  [[nodiscard]] virtual Clock& clock() = 0;
  /// Throws Error device_failed if no rung can run here any more.
  virtual void require_usable() {}
  /// Adds details to a row that was timed by `run`.
  virtual void add_details(Row&, const std::function<void()>& /*run*/) {}
};

std::unique_ptr<ClimbPlace> host_place(Instance& instance, int threads);
/// Throws Error not_built, no_device.
std::unique_ptr<ClimbPlace> device_place(Instance& instance);

namespace gpu {
/// The GPU that ladders are climbed on. Throws Error no_device.
int first_usable_device();
}  // namespace gpu

}  // namespace upsweep
